// Answers of a host for the strategy of its application: there is an answer for every failure.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ShardHostInfo, ShardStrategy } from "../../kernel/shard-strategy.ts";
import { answerStrategyRequest } from "./strategy-server.ts";

const host = (name: string, shards: number[]): ShardHostInfo => ({
  name,
  shards,
  address: `${name}:1`,
  incarnation: `${name}-1`,
  build: "",
});

const ask = (strategy: ShardStrategy, wanted: readonly number[]) =>
  answerStrategyRequest(
    {
      kind: "askStrategy",
      question: 3,
      type: "Cart",
      regions: [host("a", [1, 2]), host("b", [])],
      moving: [],
      wanted: wanted.map((shard) => ({ shard, asker: undefined })),
    },
    strategy,
  );

describe("a strategy of the application that fails", () => {
  const odd = new Error("odd");
  Object.defineProperty(odd, "message", { value: Symbol("odd") });
  const troubles: [what: string, thrown: unknown][] = [
    ["an error", new RangeError("no idea")],
    ["nothing", undefined],
    ["an object that cannot become text", Object.create(null)],
    ["an error without a text", odd],
    ["a very long text", new Error("no ".repeat(1_000_000))],
  ];
  for (const [what, thrown] of troubles) {
    it(`a strategy that throws ${what} is answered for, with its earlier choices and a text that is not long`, async () => {
      const fail = (): never => {
        throw thrown;
      };
      const { choices, problem } = await ask({ home: (shard) => (shard === 7 ? "b" : fail()) }, [7, 8]);
      assert.deepEqual(choices, [{ shard: 7, incarnation: "b-1" }]);
      assert.equal(typeof problem, "string");
      assert.ok(problem!.length < 1_100, `${problem!.length} characters`);
      const moves = await ask({ home: () => "a", moves: fail }, []);
      assert.deepEqual([moves.choices, typeof moves.problem], [[], "string"]);
    });
  }

  it("invalid moves are left out, and the rest is answered", async () => {
    const invalid = [null, 7, "all", { shard: "1" }, { shard: 9, to: "b" }, { shard: 1, to: Object.create(null) }];
    const moves = () => [...invalid, { shard: 2, to: "b" }] as never;
    assert.deepEqual(await ask({ home: () => "a", moves }, []), {
      kind: "strategyAnswer",
      question: 3,
      type: "Cart",
      problem: undefined,
      choices: [{ shard: 2, incarnation: "b-1" }],
    });
  });
});
