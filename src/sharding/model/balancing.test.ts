import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Balancing } from "./balancing.ts";
import type { ShardSettings } from "./shard-effects.ts";

const SETTINGS: ShardSettings = {
  shards: 100,
  movesAtOnce: 5,
  rebalanceMs: 10_000,
  handOffMs: 5_000,
  chooseMs: 1_000,
  minHosts: 1,
  startMs: 10_000,
};

const movesOf = (count: number) => Array.from({ length: count }, (_, shard) => ({ shard, to: "b" }));

/** A scheduler of moves whose hosts have not changed for long. */
function balancing(settings = SETTINGS): Balancing {
  const it = new Balancing(settings, 0);
  for (let i = 0; i < 1_000; i++) it.ended(1, 0);
  return it;
}

/**
 * Begins all possible moves at each given moment, while none ends. Returns the number of moves in progress at
 * each of them.
 */
function beginAll(it: Balancing, from: number, until: number): number[] {
  const counts: number[] = [];
  let moving = 0;
  for (let now = from; now <= until; now = Math.max(it.deadline, now + 1)) {
    moving += it.begin(moving, now).length;
    counts.push(moving);
  }
  return counts;
}

describe("the planned moves of a strategy", () => {
  it("planned moves begin one after the other, in their order, until the maximum is in progress", () => {
    const it = balancing();
    it.plan(movesOf(7));
    assert.deepEqual(it.begin(0, 100), [{ shard: 0, to: "b" }]);
    assert.deepEqual(it.begin(1, 100), [], "not two in the same moment");
    assert.ok(it.deadline > 100 && it.deadline < 200);
    assert.deepEqual(it.begin(1, it.deadline), [{ shard: 1, to: "b" }]);
  });

  it("planned moves wait while the maximum is in progress, and continue when one of them has ended", () => {
    const it = balancing();
    it.plan(movesOf(7));
    assert.equal(beginAll(it, 100, 1_000).at(-1), 5);
    assert.deepEqual(it.begin(5, 1_000), []);
    assert.equal(it.deadline, 10_000);
    assert.deepEqual(it.begin(4, 1_001), [{ shard: 5, to: "b" }]);
  });

  it("planned moves begin a few at a time when very many may be in progress", () => {
    const it = balancing({ ...SETTINGS, movesAtOnce: 50 });
    it.plan(movesOf(100));
    assert.equal(it.begin(0, 100).length, 10);
    assert.equal(it.begin(49, it.deadline).length, 1);
  });

  it("planned moves begin one by one after hosts have come or gone, and then ever more at once", () => {
    const it = balancing();
    it.hostsChanged(0);
    it.plan(movesOf(100));
    const most: number[] = [];
    for (let now = 1_000; now < 2_000; now += 100) {
      most.push(beginAll(it, now, now + 99).at(-1)!);
      for (let i = 0; i < 4; i++) it.ended(1, now);
    }
    assert.deepEqual(most.slice(0, 6), [1, 2, 3, 4, 5, 5]);
  });

  it("planned moves are dropped when hosts come or go, rebalancing is paused, or the rule changes", () => {
    for (const end of [
      (it: Balancing) => it.hostsChanged(200),
      (it: Balancing) => it.pause(true, 200),
      (it: Balancing) => it.adopt(SETTINGS),
    ]) {
      const it = balancing();
      it.plan(movesOf(3));
      assert.equal(it.begin(0, 100).length, 1);
      end(it);
      assert.deepEqual(it.begin(0, 1_000), []);
    }
  });

  it("planned moves are replaced by the next answer of the strategy", () => {
    const it = balancing();
    it.plan(movesOf(3));
    it.plan([{ shard: 9, to: "c" }]);
    assert.deepEqual(it.begin(0, 100), [{ shard: 9, to: "c" }]);
    assert.deepEqual(it.begin(0, 200), []);
  });
});

describe("requests for moves", () => {
  it("a strategy is asked at intervals, soon after hosts have changed, and not while a request is in flight", () => {
    const it = balancing();
    assert.equal(it.isDue(9_999), false);
    assert.equal(it.isDue(10_000), true);
    assert.equal(it.deadline, 20_000);
    it.hostsChanged(11_000);
    assert.equal(it.deadline, 11_500);
    assert.equal(it.requestMoves(), true);
    assert.equal(it.requestMoves(), false);
    it.plan([]);
    assert.equal(it.requestMoves(), true);
  });

  it("a strategy is asked again when all its moves are over, and not before", () => {
    const it = balancing();
    it.plan(movesOf(2));
    it.begin(0, 100);
    it.ended(0, 105);
    assert.ok(it.begin(0, 150).length === 1, "the other one has not begun yet");
    assert.equal(it.deadline, 10_000);
    it.ended(0, 160);
    assert.ok(it.deadline > 160 && it.deadline < 300);
  });

  it("a strategy is not asked while rebalancing is paused", () => {
    const it = balancing();
    it.pause(true, 0);
    assert.equal(it.requestMoves(), false);
    it.plan(movesOf(3));
    assert.deepEqual(it.begin(0, 100), []);
    it.pause(false, 200);
    assert.equal(it.isDue(200), true);
    assert.equal(it.requestMoves(), true);
  });
});
