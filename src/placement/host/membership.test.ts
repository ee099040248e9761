// Membership of a host, with a leader that a test plays.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Actor } from "../../actors/actor.ts";
import { Catalog } from "../../actors/catalog.ts";
import type { ActorOptions } from "../../actors/options/actor-options.ts";
import { openHostPlacement } from "../../host/host-placement.ts";
import { systemRandom } from "../../host/system.ts";
import { invariant } from "../../kernel/errors.ts";
import type { ControlListener, HostMessage, SchedulerMessage } from "../../ports/control-messages.ts";
import { type Log, silentLog } from "../../ports/log.ts";
import { silentMeter } from "../../ports/meter.ts";
import { MemoryStore } from "../../stores/memory/memory-store.ts";
import { VirtualClock } from "../../world/virtual-clock.ts";
import type { LeaderSource } from "../discovery/leader-source.ts";
import type { Membership } from "./membership.ts";
import { HostInstruments } from "./metrics.ts";

class PlayedLeader {
  readonly received: HostMessage[] = [];
  readonly seen: number[] = [];
  listener: ControlListener<SchedulerMessage> | undefined;
  readonly source = {
    onChange: undefined,
    recheck() {},
    sawTerm: (term: number) => void this.seen.push(term),
    leader: {
      address: "leader:1",
      term: 1,
      report: (listener: ControlListener<SchedulerMessage>) => {
        this.listener = listener;
        return { send: (message: HostMessage) => void this.received.push(message), close() {} };
      },
    },
  } as unknown as LeaderSource;

  send(message: SchedulerMessage): void {
    this.listener!.message(message);
  }
}

class Cart extends Actor {
  static options: ActorOptions = { placement: "sticky" };
}

function join(
  leader: PlayedLeader,
  log: Log = silentLog,
  clock = new VirtualClock(),
  changed = (): void => {},
): Membership {
  const world = { clock, random: systemRandom, log, meter: silentMeter, store: new MemoryStore() };
  const settings = {
    namespace: "n",
    idleTimeoutMs: 1_000,
    callTimeoutMs: 1_000,
    mailboxLimit: 1,
    maxResident: 1,
    drainTimeoutMs: 0,
    storeTimeoutMs: 1_000,
  };
  const { membership } = openHostPlacement(
    { namespace: "n", address: "me:1", name: "me", moveTimeoutMs: 0 },
    {
      ...world,
      identity: { machine: "m", pid: 7 },
      instruments: new HostInstruments(silentMeter, "n"),
      source: leader.source,
      catalog: new Catalog([Cart], settings, world),
      changed,
      answered() {},
    },
  );
  membership.start();
  return membership;
}

test("types that change between hello and welcome are sent to the leader", () => {
  const leader = new PlayedLeader();
  const membership = join(leader);
  membership.report(["Cart"]);
  leader.send({ kind: "welcome", term: 1, leaseMs: 10_000 });
  const types = leader.received.flatMap((message) => (message.kind === "types" ? [message.types] : []));
  assert.deepEqual(types, [["Cart"]]);
  assert.equal(leader.received[0]!.kind, "hello");
  membership.goodbye();
});

test("a host that rejects the leader of an older term reports it in its log and its status, and passes the newer term on", () => {
  const leader = new PlayedLeader();
  const logged: [string, object | undefined][] = [];
  const log = { ...silentLog, warn: (event: string, fields?: object) => void logged.push([event, fields]) };
  const membership = join(leader, log as Log);
  leader.send({ kind: "welcome", term: 42, leaseMs: 10_000 });
  assert.doesNotMatch(membership.problem ?? "", /rejects/);
  leader.listener!.closed(undefined);
  leader.source.onChange?.();
  leader.send({ kind: "welcome", term: 2, leaseMs: 10_000 });
  assert.match(membership.problem!, /it rejects the leader of term 2, because it has seen term 42/);
  assert.deepEqual(leader.seen, [42]);
  assert.deepEqual(
    logged.filter(([event]) => event === "leader.rejected"),
    [["leader.rejected", { term: 2, newest: 42 }]],
  );
  membership.goodbye();
});

/** A host with a lease of 10 s: it sent its renewal at 0, and gets the answer at this time. */
async function leased(answeredAtMs: number) {
  const leader = new PlayedLeader();
  const clock = new VirtualClock();
  const events: string[] = [];
  const log = { ...silentLog, warn: (event: string) => void events.push(event) };
  const membership = join(leader, log as Log, clock);
  leader.send({ kind: "welcome", term: 1, leaseMs: 10_000 });
  const renewal = leader.received.find((message) => message.kind === "renew");
  assert.ok(renewal?.kind === "renew");
  await clock.advance(answeredAtMs);
  leader.send({ kind: "renewed", sequence: renewal.sequence });
  return { leader, clock, membership, hasLost: () => events.includes("lease.lost") };
}

test("the lease of a host counts from the time at which it sent the renewal, however late the answer is", async () => {
  const { clock, membership, hasLost } = await leased(6_000);
  await clock.advance(2_400);
  assert.equal(hasLost(), false);
  await clock.advance(200);
  assert.equal(hasLost(), true);
  membership.goodbye();
});

test("a host that has lost its lease claims no sticky actor of its earlier incarnation", async () => {
  const { leader, clock, membership, hasLost } = await leased(0);
  leader.send({ kind: "granted", type: "Cart", ids: ["x"] });
  await clock.advance("9s");
  assert.equal(hasLost(), true);
  const before = leader.received.length;
  await clock.advance("2s");
  leader.send({ kind: "welcome", term: 1, leaseMs: 10_000 });
  const since = leader.received.slice(before).map(({ kind }) => kind);
  assert.ok(since.includes("claimed"));
  assert.ok(!since.includes("claims"));
  membership.goodbye();
});

test("a broken invariant makes the host start over as a new incarnation, and does not reach the stream", async () => {
  const leader = new PlayedLeader();
  const clock = new VirtualClock();
  const errors: string[] = [];
  let isBroken = false;
  const log = { ...silentLog, error: (event: string) => void errors.push(event) };
  const membership = join(leader, log as Log, clock, () => {
    const wasBroken = isBroken;
    isBroken = false;
    invariant(!wasBroken, "the unlocked table of a type never becomes an older one");
  });
  leader.send({ kind: "welcome", term: 1, leaseMs: 10_000 });
  const { incarnation } = membership;
  isBroken = true;
  const order = {
    kind: "order",
    namespace: "n",
    term: 1,
    round: 0,
    types: [],
    tables: [],
    replicationFactor: 10,
  } as const;
  leader.send({ ...order, operation: "update" });
  assert.deepEqual(errors, ["membership.invariant-broken"]);
  await clock.advance("1s");
  const hello = leader.received.findLast((message) => message.kind === "hello");
  assert.equal(hello?.replaces, incarnation);
  membership.goodbye();
});
