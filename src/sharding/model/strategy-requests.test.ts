import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type StrategyEffect, StrategyRequests } from "./strategy-requests.ts";

const PATIENCE = 1_000;
const kinds = (effects: readonly StrategyEffect[]): string[] => effects.map(({ kind }) => kind);
const asked = (effects: readonly StrategyEffect[]) => {
  const ask = effects.find((effect) => effect.kind === "ask");
  assert.ok(ask?.kind === "ask", `nobody was asked: ${kinds(effects).join()}`);
  return { ...ask, shards: ask.wanted.map(({ shard }) => shard) };
};

describe("what the application's own strategy is asked", () => {
  it("is one question at a time, with all that is wanted by then", () => {
    const advice = new StrategyRequests(PATIENCE);
    assert.deepEqual(advice.flush(["a"], 0), []);
    advice.wantHome(1, "a");
    advice.wantHome(2, undefined);
    const first = asked(advice.flush(["a", "b"], 0));
    assert.deepEqual(
      [first.host, first.wanted],
      [
        "a",
        [
          { shard: 1, asker: "a" },
          { shard: 2, asker: undefined },
        ],
      ],
    );
    // Of what was asked already nothing is asked again, and of what came since not yet.
    advice.wantHome(1, "b");
    advice.wantHome(3, "b");
    assert.deepEqual(advice.flush(["a"], 1), []);
    assert.deepEqual(
      advice.answered(
        first.question,
        "a",
        [
          { shard: 1, to: "x" },
          { shard: 2, to: "y" },
        ],
        undefined,
      ),
      [
        {
          kind: "homes",
          homes: [
            { shard: 1, to: "x" },
            { shard: 2, to: "y" },
          ],
        },
      ],
    );
    assert.deepEqual(asked(advice.flush(["a"], 2)).shards, [3]);
  });

  it("has another number than any that the strategy before was asked, whose answer may still come", () => {
    const before = new StrategyRequests(PATIENCE);
    before.wantHome(1, "a");
    const old = asked(before.flush(["a"], 0));
    const advice = new StrategyRequests(PATIENCE, before.last);
    advice.wantHome(2, "a");
    const { question } = asked(advice.flush(["a"], 1));
    assert.deepEqual(advice.answered(old.question, "a", [{ shard: 1, to: "x" }], undefined), []);
    assert.deepEqual(advice.answered(question, "a", [{ shard: 2, to: "y" }], undefined), [
      { kind: "homes", homes: [{ shard: 2, to: "y" }] },
    ]);
  });

  it("does not keep shards waiting while it thinks about moves", () => {
    const advice = new StrategyRequests(PATIENCE);
    advice.wantMoves();
    const moves = asked(advice.flush(["a"], 0));
    assert.deepEqual(moves.wanted, []);
    advice.wantHome(7, "a");
    const homes = asked(advice.flush(["a"], 0));
    assert.deepEqual(homes.shards, [7]);
    assert.deepEqual(advice.answered(moves.question, "a", [{ shard: 1, to: "b" }], undefined), [
      { kind: "moves", moves: [{ shard: 1, to: "b" }] },
    ]);
    assert.deepEqual(kinds(advice.answered(homes.question, "a", [{ shard: 7, to: "b" }], undefined)), ["homes"]);
  });

  it("counts as a fault when it says nothing of some, and those that it spoke of count all the same", () => {
    const advice = new StrategyRequests(PATIENCE);
    advice.wantHome(1, "a");
    advice.wantHome(2, "a");
    const { question } = asked(advice.flush(["a"], 0));
    const effects = advice.answered(question, "a", [{ shard: 1, to: "x" }], undefined);
    assert.deepEqual(kinds(effects), ["fault", "homes"]);
    assert.deepEqual(effects[1], {
      kind: "homes",
      homes: [
        { shard: 1, to: "x" },
        { shard: 2, to: undefined },
      ],
    });
  });

  it("is asked elsewhere after it has thrown", () => {
    const advice = new StrategyRequests(PATIENCE);
    advice.wantHome(1, "a");
    const first = asked(advice.flush(["a", "b"], 0));
    const effects = advice.answered(first.question, first.host, [], "boom");
    assert.deepEqual(effects[0], { kind: "fault", fault: "threw", why: "boom" });
    advice.wantHome(2, "a");
    assert.notEqual(asked(advice.flush(["a", "b"], 0)).host, first.host);
  });

  it("is not waited for longer than its time, and then left alone for a while", () => {
    const advice = new StrategyRequests(PATIENCE);
    advice.wantHome(1, "a");
    const { question } = asked(advice.flush(["a"], 0));
    assert.equal(advice.deadline, PATIENCE);
    assert.deepEqual(advice.tick(PATIENCE - 1), []);
    const late = advice.tick(PATIENCE);
    assert.deepEqual(kinds(late), ["fault", "homes"]);
    assert.deepEqual(late[1], { kind: "homes", homes: [{ shard: 1, to: undefined }] });
    assert.equal(advice.deadline, Number.POSITIVE_INFINITY);
    // What it says after all comes too late.
    assert.deepEqual(advice.answered(question, "a", [{ shard: 1, to: "x" }], undefined), []);
    advice.wantHome(2, "a");
    advice.wantMoves();
    const resting = advice.flush(["a"], PATIENCE + 1);
    assert.deepEqual(resting, [
      { kind: "homes", homes: [{ shard: 2, to: undefined }] },
      { kind: "moves", moves: [] },
    ]);
    advice.wantHome(3, "a");
    assert.deepEqual(asked(advice.flush(["a"], PATIENCE + 60_000)).shards, [3]);
  });

  it("goes to another host when the one that was asked is gone", () => {
    const advice = new StrategyRequests(PATIENCE);
    advice.wantHome(1, "b");
    advice.wantMoves();
    const effects = advice.flush(["a"], 0);
    assert.equal(effects.length, 2);
    advice.lost("b");
    assert.deepEqual(advice.flush(["b"], 1), []);
    advice.lost("a");
    const again = advice.flush(["b"], 2);
    assert.deepEqual(
      again.map((effect) => effect.kind === "ask" && [effect.host, effect.wanted.length]),
      [
        ["b", 1],
        ["b", 0],
      ],
    );
  });

  it("is answered by nobody when nobody can be asked, which is a fault", () => {
    const advice = new StrategyRequests(PATIENCE);
    advice.wantHome(1, undefined);
    assert.deepEqual(kinds(advice.flush([], 0)), ["fault", "homes"]);
  });

  it("is not answered by who was not asked", () => {
    const advice = new StrategyRequests(PATIENCE);
    advice.wantHome(1, undefined);
    const { question } = asked(advice.flush(["a"], 0));
    assert.deepEqual(advice.answered(question, "b", [], undefined), []);
    assert.deepEqual(advice.answered(question + 1, "a", [], undefined), []);
    assert.deepEqual(kinds(advice.answered(question, "a", [{ shard: 1, to: "a" }], undefined)), ["homes"]);
  });
});
