// A host's part in the cluster, with a leader that a test plays.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Catalog } from "../actors/catalog.ts";
import type { HostMessage, SchedulerMessage } from "../placement/messages.ts";
import type { ControlListener } from "../ports/control.ts";
import { silentLog } from "../ports/log.ts";
import { silentMeter } from "../ports/meter.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { VirtualClock } from "../world/virtual-clock.ts";
import { HostInstruments } from "./host-instruments.ts";
import type { LeaderSource } from "./leader-source.ts";
import { Membership } from "./membership.ts";
import { systemRandom } from "./system.ts";

class PlayedLeader {
  readonly heard: HostMessage[] = [];
  listener: ControlListener<SchedulerMessage> | undefined;
  readonly source = {
    onChange: undefined,
    doubt() {},
    leader: {
      address: "leader:1",
      term: 1,
      report: (listener: ControlListener<SchedulerMessage>) => {
        this.listener = listener;
        return { send: (message: HostMessage) => void this.heard.push(message), close() {} };
      },
    },
  } as unknown as LeaderSource;

  say(message: SchedulerMessage): void {
    this.listener!.message(message);
  }
}

function join(leader: PlayedLeader): Membership {
  const clock = new VirtualClock();
  const world = { clock, random: systemRandom, log: silentLog, meter: silentMeter, store: new MemoryStore() };
  const settings = {
    namespace: "n",
    idleTimeoutMs: 1_000,
    callTimeoutMs: 1_000,
    mailboxLimit: 1,
    maxResident: 1,
    drainTimeoutMs: 0,
    storeTimeoutMs: 1_000,
  };
  const membership = new Membership(
    { namespace: "n", address: "me:1", name: "me", moveTimeoutMs: 0 },
    {
      ...world,
      identity: { machine: "m", pid: 7 },
      instruments: new HostInstruments(silentMeter, "n"),
      source: leader.source,
      catalog: new Catalog([], settings, world),
      changed() {},
      answered() {},
    },
  );
  membership.start();
  return membership;
}

test("types that change between hello and welcome are told", () => {
  const leader = new PlayedLeader();
  const membership = join(leader);
  membership.report(["Cart"]);
  leader.say({ kind: "welcome", term: 1, leaseMs: 10_000 });
  const types = leader.heard.flatMap((message) => (message.kind === "types" ? [message.types] : []));
  assert.deepEqual(types, [["Cart"]]);
  assert.equal(leader.heard[0]!.kind, "hello");
  membership.goodbye();
});
