// Execution of the leader's orders on a host: the actors it lets go of, how often, and its metrics.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Catalog } from "../../actors/catalog.ts";
import { Metrics } from "../../observe/metrics.ts";
import type { ControlStream, HostMessage, PlacementOrder, TypeTable } from "../../ports/control-messages.ts";
import { VirtualClock } from "../../world/virtual-clock.ts";
import { HostTables } from "../model/host-tables.ts";
import type { StickyClient } from "../sticky/sticky-client.ts";
import { HostInstruments } from "./metrics.ts";
import { OrderFollower } from "./order-follower.ts";

const HERE = { address: "a:1", incarnation: "a", name: "" };
const THERE = { address: "b:1", incarnation: "b", name: "" };

/** A host with one actor of `Cart`, which is let go when `letGo` is called. */
function setting() {
  const tables = new HostTables(HERE.address);
  const activations = new Map([["one", {}]]);
  const letGo: (() => void)[] = [];
  const catalog = {
    types: new Map([["Cart", { name: "Cart", activations, options: {} }]]),
    moveAway: () =>
      new Promise<number>((resolve) => {
        letGo.push(() => {
          activations.clear();
          resolve(1);
        });
      }),
  };
  const meter = new Metrics();
  const follower = new OrderFollower(
    tables,
    { flush() {}, letGoOfAll() {} } as unknown as StickyClient,
    { address: HERE.address, moveTimeoutMs: 1_000 },
    {
      clock: new VirtualClock(),
      catalog: catalog as unknown as Catalog,
      changed() {},
      instruments: new HostInstruments(meter, "n"),
    },
  );
  const sent: string[] = [];
  const stream: ControlStream<HostMessage> = {
    send: (message) => void sent.push(message.kind === "ack" ? `${message.operation} ${message.round}` : message.kind),
    close() {},
  };
  const order = (operation: PlacementOrder["operation"], round: number, tablesOf: readonly TypeTable[] = []): void => {
    const about = { kind: "order", operation, namespace: "n", term: 1, round, replicationFactor: 10 } as const;
    follower.follow({ ...about, types: round === 0 ? [] : ["Cart"], tables: tablesOf }, stream, () => true);
  };
  const table = (number: number, hosts: TypeTable["hosts"], more: Partial<TypeTable> = {}): TypeTable => {
    return { type: "Cart", version: { term: 1, number }, base: undefined, hosts, ...more };
  };
  order("update", 0, [table(1, [HERE])]);
  sent.length = 0;
  return { order, table, letGo, sent, meter };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("an update", () => {
  it("a host counts the actors that an update has moved away with the reason of the update", async () => {
    for (const [reason, label] of [
      ["join", "join"],
      [undefined, "unknown"],
    ] as const) {
      const { order, table, letGo, meter } = setting();
      order("lock", 7);
      order("update", 7, [table(2, [THERE], { reason })]);
      letGo[0]!();
      await turn();
      const lines = meter.render().split("\n");
      const labels = `{namespace="n",reason="${label}",type="Cart"}`;
      assert.ok(lines.includes(`limpet_host_halted_actors_sum${labels} 1`), lines.join("\n"));
      assert.ok(lines.includes(`limpet_host_halts_total${labels} 1`));
      assert.ok(lines.includes('limpet_host_drained_actors_total{namespace="n",reason="moved",type="Cart"} 1'));
    }
  });
});

describe("an order that is sent again", () => {
  it("a repeated order does not let go of actors twice, and is acknowledged when they are gone", async () => {
    const { order, table, letGo, sent } = setting();
    for (let i = 0; i < 2; i++) {
      order("lock", 7);
      order("update", 7, [table(2, [THERE])]);
    }
    assert.deepEqual([letGo.length, sent], [1, []]);
    letGo[0]!();
    await turn();
    assert.deepEqual(sent, ["update 7"]);
    order("lock", 7);
    order("update", 7, [table(2, [THERE])]);
    assert.deepEqual(
      [letGo.length, sent],
      [1, ["update 7", "update 7"]],
      "whose acknowledgement was lost says it again",
    );
  });
});
