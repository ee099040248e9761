import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ShardWaits } from "./shard-waits.ts";
import { assignedRow, pausedRow, readPersisted } from "./steering-rows.ts";

describe("calls that wait for a shard", () => {
  it("calls are stuck when the first of them has waited for too long, and not any more when the home is known", () => {
    const waits = new ShardWaits();
    waits.waits("Cart", 3, 100);
    waits.waits("Cart", 3, 900);
    waits.waits("Order", 1, 200);
    const patience = (type: string) => (type === "Cart" ? 1_000 : 5_000);
    assert.deepEqual([...waits.of("Cart", 600)], [[3, 500]]);
    assert.equal(waits.stuck(1_100, patience), undefined);
    assert.deepEqual(waits.stuck(1_101, patience), { type: "Cart", shard: 3, ms: 1_001 });
    for (const [type, shard] of [["Cart", 3] as const, ["Order", 1] as const]) {
      for (const now of [5_000, 9_000]) waits.waits(type, shard, now);
    }
    assert.deepEqual(waits.stuck(9_000, patience), { type: "Cart", shard: 3, ms: 8_900 });
    waits.ended("Cart", 3);
    assert.deepEqual(waits.stuck(9_000, patience), { type: "Order", shard: 1, ms: 8_800 });
    waits.clear();
    assert.equal(waits.stuck(9_000, patience), undefined);
  });

  it("calls are not stuck when none of them retries any more, and their wait begins anew when one does", () => {
    const waits = new ShardWaits();
    for (const now of [0, 1_000, 2_000]) waits.waits("Cart", 3, now);
    const patience = () => 1_000;
    assert.equal(waits.stuck(7_000, patience)?.ms, 7_000);
    assert.equal(waits.stuck(7_001, patience), undefined);
    assert.equal(waits.of("Cart", 7_001).size, 0);
    waits.waits("Cart", 3, 8_000);
    assert.equal(waits.stuck(8_500, patience), undefined);
  });
});

describe("rows of operators' instructions", () => {
  it("instructions are read back by type, apart from homes", () => {
    const left = readPersisted([
      { type: "Cart", shard: 1, incarnation: "i" },
      assignedRow("Cart", 1, "alpha"),
      assignedRow("Cart", 2, undefined),
      pausedRow("Cart", true),
      pausedRow("Order", false),
      assignedRow("Order", 0, "beta"),
    ]);
    assert.deepEqual(
      [...left].map(([type, { homes, assigned, isPaused }]) => [type, [...homes], [...assigned], isPaused]),
      [
        ["Cart", [[1, "i"]], [[1, "alpha"]], true],
        ["Order", [], [[0, "beta"]], false],
      ],
    );
  });
});
