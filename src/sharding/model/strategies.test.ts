import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { ShardHostInfo } from "../../kernel/shard-strategy.ts";
import { externalShards } from "./external-shards.ts";
import { hashedShards } from "./hashed-shards.ts";
import { leastShards } from "./least-shards.ts";
import { checkedMoves, compareBuilds, type Move, type Strategy } from "./strategy.ts";

const NONE: ReadonlySet<number> = new Set();

const region = (name: string, shards: readonly number[] = [], build = "1"): ShardHostInfo => ({
  incarnation: `${name}!`,
  address: `${name}:7401`,
  name,
  build,
  shards,
});

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);

/** The regions after these moves. */
function after(regions: readonly ShardHostInfo[], moves: readonly Move[], strategy: Strategy): ShardHostInfo[] {
  const moved = new Map(moves.map(({ shard, to }) => [shard, to ?? strategy.home(shard, regions, undefined)]));
  const homes = regions.flatMap(({ incarnation, shards }) =>
    shards.map((shard) => [shard, moved.get(shard) ?? incarnation] as const),
  );
  return regions.map((one) => ({
    ...one,
    shards: homes.filter(([, home]) => home === one.incarnation).map(([shard]) => shard),
  }));
}

describe('the strategy "least shards"', () => {
  it("a shard goes to the host with the fewest shards", () => {
    const regions = [region("a", [1, 2]), region("b", [3]), region("c", [4, 5])];
    assert.equal(leastShards().home(9, regions, "a!"), "b!");
  });

  it("hosts of an older build get no shards, and nothing moves while there are several builds", () => {
    const regions = [region("a", [], "1.9"), region("b", range(0, 50), "1.10")];
    assert.equal(leastShards().home(99, regions, "a!"), "b!");
    assert.deepEqual(leastShards().moves(regions, NONE), []);
  });

  it("one round moves no more shards than both limits allow, and at least one", () => {
    const regions = [region("a", range(0, 100)), region("b")];
    assert.equal(leastShards({ absoluteLimit: 7, relativeLimit: 1 }).moves(regions, NONE).length, 7);
    assert.equal(leastShards({ absoluteLimit: 1_000, relativeLimit: 0.1 }).moves(regions, NONE).length, 10);
    assert.equal(leastShards({ absoluteLimit: 1_000, relativeLimit: 0 }).moves(regions, NONE).length, 1);
  });

  it("shards move for balance only while the difference between two hosts is above the threshold", () => {
    const regions = [region("a", range(0, 10)), region("b", range(10, 15))];
    const sizes = (threshold: number): number[] => {
      const strategy = leastShards({ relativeLimit: 1, threshold });
      return after(regions, strategy.moves(regions, NONE), strategy).map(({ shards }) => shards.length);
    };
    assert.deepEqual(sizes(5), [10, 5]);
    assert.deepEqual(sizes(4), [9, 6]);
    assert.deepEqual(sizes(1), [8, 7]);
  });

  it("a shard that moves already is not moved again", () => {
    const regions = [region("a", [1, 2, 3]), region("b")];
    const moves = leastShards({ relativeLimit: 1 }).moves(regions, new Set([3]));
    assert.deepEqual(moves, [{ shard: 2, to: "b!" }]);
  });

  it("balance is reached in a few rounds, and then nothing moves", () => {
    const counts = fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 2, maxLength: 8 });
    fc.assert(
      fc.property(counts, (sizes) => {
        const next = sizes.reduce((sum, size) => sum + size, 0);
        const upTo = (i: number): number => sizes.slice(0, i).reduce((sum, size) => sum + size, 0);
        let regions = sizes.map((_, i) => region(`h${i}`, range(upTo(i), upTo(i + 1))));
        const strategy = leastShards({ relativeLimit: 0.3 });
        for (let round = 0; round < 200; round++) {
          const moves = strategy.moves(regions, NONE);
          if (moves.length === 0) break;
          regions = after(regions, moves, strategy);
        }
        const sorted = regions.map(({ shards }) => shards.length).sort((a, b) => a - b);
        assert.ok(sorted.at(-1)! - sorted[0]! <= 1, `${sorted}`);
        assert.equal(regions.flatMap(({ shards }) => shards).length, next);
      }),
    );
  });
});

it("no strategy is asked for a home while the type has no host", () => {
  for (const strategy of [leastShards(), hashedShards(), externalShards(new Map([[1, "a"]]))]) {
    assert.throws(() => strategy.home(1, [], undefined), { code: "INVARIANT", message: /it has none/ });
    assert.deepEqual(strategy.moves([], NONE), []);
  }
});

describe('the strategy "hashed shards"', () => {
  it("shards of the same number live on the same host for all types with the same hosts", () => {
    const [one, other] = [
      [region("a"), region("b"), region("c")],
      [region("c", [5]), region("a"), region("b", [7])],
    ];
    for (const shard of range(0, 200)) {
      assert.equal(hashedShards().home(shard, one, undefined), hashedShards().home(shard, other, "a!"));
    }
  });

  it("shards move only to a host that is new", () => {
    const strategy = hashedShards({ limit: 1_000 });
    const empty = [region("a"), region("b")];
    const placed = empty.map((one) => ({
      ...one,
      shards: range(0, 300).filter((shard) => strategy.home(shard, empty, undefined) === one.incarnation),
    }));
    assert.deepEqual(strategy.moves(placed, NONE), []);
    const moves = strategy.moves([...placed, region("c")], NONE);
    assert.ok(moves.length > 60 && moves.length < 140, `${moves.length}`);
    assert.ok(moves.every(({ to }) => to === "c!"));
  });
});

describe("the strategy of external assignments", () => {
  it("a shard without an assignment goes to the host with the fewest shards when the asking host cannot be its home", () => {
    const { home } = externalShards(new Map([[1, "gone"]]));
    const regions = [region("a", [4, 5]), region("b", [6])];
    assert.equal(home(1, regions, "stranger"), "b!");
    assert.equal(home(2, regions, undefined), "b!");
    assert.equal(home(2, regions, "a!"), "a!");
  });

  it("a shard lives at its assigned host, otherwise where it is asked for, and moves when the assignment changes", () => {
    const assigned = new Map([[1, "b"]]);
    const strategy = externalShards(assigned);
    const regions = [region("a", [1, 2]), region("b")];
    assert.equal(strategy.home(1, regions, "a!"), "b!");
    assert.equal(strategy.home(2, regions, "b!"), "b!");
    assert.deepEqual(strategy.moves(regions, NONE), [{ shard: 1, to: "b!" }]);
    assigned.set(1, "nobody");
    assert.deepEqual(strategy.moves(regions, NONE), []);
  });
});

describe("the check of a strategy's answers", () => {
  it("the valid parts of a strategy's answer are used", () => {
    const regions = [region("a", [1, 2, 3]), region("b", [4])];
    const answer = [
      { shard: 1, to: "b!" },
      { shard: 1, to: "b!" },
      { shard: 2, to: "a!" },
      { shard: 3, to: "nobody" },
      { shard: 4 },
      { shard: 77, to: "a!" },
      undefined,
      "nonsense",
    ];
    assert.deepEqual(checkedMoves(answer, regions, NONE, 10), [
      { shard: 1, to: "b!" },
      { shard: 4, to: undefined },
    ]);
    assert.deepEqual(checkedMoves(answer, regions, new Set([1]), 10), [{ shard: 4, to: undefined }]);
    assert.equal(checkedMoves(answer, regions, NONE, 1).length, 1);
    for (const nonsense of [undefined, null, 7, "x", {}])
      assert.deepEqual(checkedMoves(nonsense, regions, NONE, 9), []);
  });

  it("no answer of a strategy does any harm", () => {
    fc.assert(
      fc.property(fc.anything(), fc.array(fc.anything()), (one, many) => {
        const regions = [region("a", [1]), region("b")];
        for (const answer of [one, many]) assert.ok(checkedMoves(answer, regions, NONE, 10).length <= 1);
      }),
    );
  });
});

it("builds are compared with their numbers as numbers", () => {
  const order = ["", "1", "1.2", "1.9", "1.10", "1.10-rc", "2", "10"];
  for (const [i, a] of order.entries()) {
    for (const [j, b] of order.entries()) assert.equal(Math.sign(compareBuilds(a, b)), Math.sign(i - j), `${a} ${b}`);
  }
});
