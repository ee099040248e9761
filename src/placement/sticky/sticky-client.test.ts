// Requests of a host about sticky actors, with a leader and a catalog that the test plays.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ActorHost } from "../../ports/actor-host.ts";
import type { HostMessage } from "../../ports/control-messages.ts";
import { silentLog } from "../../ports/log.ts";
import { silentMeter } from "../../ports/meter.ts";
import { HERE, WAIT } from "../../ports/placement.ts";
import { VirtualClock } from "../../world/virtual-clock.ts";
import { HostInstruments } from "../host/metrics.ts";
import type { HostTables } from "../model/host-tables.ts";
import { StickyClient } from "./sticky-client.ts";

const ME = { address: "me:1", incarnation: "i", name: "me" };

/** A host of the type Cart with a stream to the leader. The ring names this host for every actor. */
function joined() {
  const clock = new VirtualClock();
  const sent: HostMessage[] = [];
  /** Actors in memory. */
  const activations = new Map<string, object>();
  const cart = { name: "Cart", activations, options: { sticky: { lost: 0, limit: 100, full: "evict" } } };
  const tables = { owner: () => ME.address, hostAt: () => ME } as Partial<HostTables> as HostTables;
  const client = new StickyClient({ ...ME, moveTimeoutMs: 1_000 }, tables, {
    clock,
    log: silentLog,
    catalog: { types: new Map([["Cart", cart]]) } as unknown as ActorHost,
    instruments: new HostInstruments(silentMeter, "n"),
    answered() {},
    wants: () => true,
  });
  client.joined({ send: (message) => void sent.push(message), close() {} });
  sent.length = 0;
  return { clock, client, sent, activations };
}

const releasedOf = (sent: readonly HostMessage[]): string[] =>
  sent.flatMap((message) => (message.kind === "released" ? message.ids : []));

test("a host releases a granted actor at once when no call waits for it any more", async () => {
  for (const [waits, route, released] of [
    ["5s", HERE, []],
    ["20s", WAIT, ["a"]],
  ] as const) {
    const { clock, client, sent } = joined();
    assert.equal(client.route("Cart", "a", clock.monotonic() + 10_000), WAIT);
    await clock.advance(waits);
    const request = sent.find((message) => message.kind === "acquire");
    assert.ok(request?.kind === "acquire");
    client.message({ kind: "acquired", answers: [{ correlation: request.requests[0]!.correlation, kind: "granted" }] });
    assert.equal(client.route("Cart", "a", clock.monotonic()), route);
    await clock.advance("1s");
    assert.deepEqual(releasedOf(sent), released);
  }
});

test("a host that loses a type releases an actor in memory only after it has left", async () => {
  const { clock, client, sent, activations } = joined();
  client.message({ kind: "granted", type: "Cart", ids: ["busy", "idle"] });
  activations.set("busy", {});
  client.letGoOfAll("Cart");
  await clock.advance("1s");
  assert.deepEqual(releasedOf(sent), ["idle"]);
  activations.delete("busy");
  client.left("Cart", "busy", "moved");
  await clock.advance("1s");
  assert.deepEqual(releasedOf(sent), ["idle", "busy"]);
});
