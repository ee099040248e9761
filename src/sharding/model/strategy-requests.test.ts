import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type StrategyEffect, StrategyRequests } from "./strategy-requests.ts";

const PATIENCE = 1_000;
const kinds = (effects: readonly StrategyEffect[]): string[] => effects.map(({ kind }) => kind);
const sent = (effects: readonly StrategyEffect[]) => {
  const ask = effects.find((effect) => effect.kind === "askStrategy");
  assert.ok(ask?.kind === "askStrategy", `no host was asked: ${kinds(effects).join()}`);
  return { ...ask, shards: ask.wanted.map(({ shard }) => shard) };
};

describe("requests to the application's own strategy", () => {
  it("one request is in flight at a time, with all shards that are wanted by then", () => {
    const requests = new StrategyRequests(PATIENCE);
    assert.deepEqual(requests.flush(["a"], 0), []);
    requests.wantHome(1, "a");
    requests.wantHome(2, undefined);
    const first = sent(requests.flush(["a", "b"], 0));
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
    requests.wantHome(1, "b");
    requests.wantHome(3, "b");
    assert.deepEqual(requests.flush(["a"], 1), []);
    assert.deepEqual(
      requests.answered(
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
    assert.deepEqual(sent(requests.flush(["a"], 2)).shards, [3]);
  });

  it("a request has another number than any request to the previous strategy, whose answer may still come", () => {
    const before = new StrategyRequests(PATIENCE);
    before.wantHome(1, "a");
    const old = sent(before.flush(["a"], 0));
    const requests = new StrategyRequests(PATIENCE, before.last);
    requests.wantHome(2, "a");
    const { question } = sent(requests.flush(["a"], 1));
    assert.deepEqual(requests.answered(old.question, "a", [{ shard: 1, to: "x" }], undefined), []);
    assert.deepEqual(requests.answered(question, "a", [{ shard: 2, to: "y" }], undefined), [
      { kind: "homes", homes: [{ shard: 2, to: "y" }] },
    ]);
  });

  it("a request for moves does not delay requests for homes", () => {
    const requests = new StrategyRequests(PATIENCE);
    requests.wantMoves();
    const moves = sent(requests.flush(["a"], 0));
    assert.deepEqual(moves.wanted, []);
    requests.wantHome(7, "a");
    const homes = sent(requests.flush(["a"], 0));
    assert.deepEqual(homes.shards, [7]);
    assert.deepEqual(requests.answered(moves.question, "a", [{ shard: 1, to: "b" }], undefined), [
      { kind: "moves", moves: [{ shard: 1, to: "b" }] },
    ]);
    assert.deepEqual(kinds(requests.answered(homes.question, "a", [{ shard: 7, to: "b" }], undefined)), ["homes"]);
  });

  it("an incomplete answer counts as a fault, and its homes are used", () => {
    const requests = new StrategyRequests(PATIENCE);
    requests.wantHome(1, "a");
    requests.wantHome(2, "a");
    const { question } = sent(requests.flush(["a"], 0));
    const effects = requests.answered(question, "a", [{ shard: 1, to: "x" }], undefined);
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
    const requests = new StrategyRequests(PATIENCE);
    requests.wantHome(1, "a");
    const first = sent(requests.flush(["a", "b"], 0));
    const effects = requests.answered(first.question, first.host, [], "boom");
    assert.deepEqual(effects[0], { kind: "fault", fault: "threw", why: "boom" });
    requests.wantHome(2, "a");
    assert.notEqual(sent(requests.flush(["a", "b"], 0)).host, first.host);
  });

  it("a request that times out is followed by a pause without requests", () => {
    const requests = new StrategyRequests(PATIENCE);
    requests.wantHome(1, "a");
    const { question } = sent(requests.flush(["a"], 0));
    assert.equal(requests.deadline, PATIENCE);
    assert.deepEqual(requests.tick(PATIENCE - 1), []);
    const late = requests.tick(PATIENCE);
    assert.deepEqual(kinds(late), ["fault", "homes"]);
    assert.deepEqual(late[1], { kind: "homes", homes: [{ shard: 1, to: undefined }] });
    assert.equal(requests.deadline, Number.POSITIVE_INFINITY);
    // The late answer is ignored.
    assert.deepEqual(requests.answered(question, "a", [{ shard: 1, to: "x" }], undefined), []);
    requests.wantHome(2, "a");
    requests.wantMoves();
    const resting = requests.flush(["a"], PATIENCE + 1);
    assert.deepEqual(resting, [
      { kind: "homes", homes: [{ shard: 2, to: undefined }] },
      { kind: "moves", moves: [] },
    ]);
    requests.wantHome(3, "a");
    assert.deepEqual(sent(requests.flush(["a"], PATIENCE + 60_000)).shards, [3]);
  });

  it("a request goes to another host when the asked one is gone", () => {
    const requests = new StrategyRequests(PATIENCE);
    requests.wantHome(1, "b");
    requests.wantMoves();
    const effects = requests.flush(["a"], 0);
    assert.equal(effects.length, 2);
    requests.lost("b");
    assert.deepEqual(requests.flush(["b"], 1), []);
    requests.lost("a");
    const again = requests.flush(["b"], 2);
    assert.deepEqual(
      again.map((effect) => effect.kind === "askStrategy" && [effect.host, effect.wanted.length]),
      [
        ["b", 1],
        ["b", 0],
      ],
    );
  });

  it("a request without a host to ask is a fault, and falls back", () => {
    const requests = new StrategyRequests(PATIENCE);
    requests.wantHome(1, undefined);
    assert.deepEqual(kinds(requests.flush([], 0)), ["fault", "homes"]);
  });

  it("an answer of a host that was not asked is ignored", () => {
    const requests = new StrategyRequests(PATIENCE);
    requests.wantHome(1, undefined);
    const { question } = sent(requests.flush(["a"], 0));
    assert.deepEqual(requests.answered(question, "b", [], undefined), []);
    assert.deepEqual(requests.answered(question + 1, "a", [], undefined), []);
    assert.deepEqual(kinds(requests.answered(question, "a", [{ shard: 1, to: "a" }], undefined)), ["homes"]);
  });
});
