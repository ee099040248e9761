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

describe("requests to the application's own strategy", () => {
  it("one request is in flight at a time, with all shards that are wanted by then", () => {
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
    // Shards of the request in flight are not requested again, and newer ones wait for the next request.
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

  it("a request has another number than any request to the previous strategy, whose answer may still come", () => {
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

  it("a request for moves does not delay requests for homes", () => {
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

  it("an incomplete answer counts as a fault, and its homes are used", () => {
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

  it("the next request goes to another host after the strategy has thrown", () => {
    const advice = new StrategyRequests(PATIENCE);
    advice.wantHome(1, "a");
    const first = asked(advice.flush(["a", "b"], 0));
    const effects = advice.answered(first.question, first.host, [], "boom");
    assert.deepEqual(effects[0], { kind: "fault", fault: "threw", why: "boom" });
    advice.wantHome(2, "a");
    assert.notEqual(asked(advice.flush(["a", "b"], 0)).host, first.host);
  });

  it("a request that times out is followed by a pause without requests", () => {
    const advice = new StrategyRequests(PATIENCE);
    advice.wantHome(1, "a");
    const { question } = asked(advice.flush(["a"], 0));
    assert.equal(advice.deadline, PATIENCE);
    assert.deepEqual(advice.tick(PATIENCE - 1), []);
    const late = advice.tick(PATIENCE);
    assert.deepEqual(kinds(late), ["fault", "homes"]);
    assert.deepEqual(late[1], { kind: "homes", homes: [{ shard: 1, to: undefined }] });
    assert.equal(advice.deadline, Number.POSITIVE_INFINITY);
    // The late answer is ignored.
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

  it("a request goes to another host when the asked one is gone", () => {
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

  it("a request without a host to ask is a fault, and falls back", () => {
    const advice = new StrategyRequests(PATIENCE);
    advice.wantHome(1, undefined);
    assert.deepEqual(kinds(advice.flush([], 0)), ["fault", "homes"]);
  });

  it("an answer of a host that was not asked is ignored", () => {
    const advice = new StrategyRequests(PATIENCE);
    advice.wantHome(1, undefined);
    const { question } = asked(advice.flush(["a"], 0));
    assert.deepEqual(advice.answered(question, "b", [], undefined), []);
    assert.deepEqual(advice.answered(question + 1, "a", [], undefined), []);
    assert.deepEqual(kinds(advice.answered(question, "a", [{ shard: 1, to: "a" }], undefined)), ["homes"]);
  });
});
