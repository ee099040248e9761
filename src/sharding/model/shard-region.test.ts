import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type ShardHome, ShardRegion } from "./shard-region.ts";

const home = (incarnation: string): ShardHome => ({ incarnation, address: `${incarnation}:1` });

function open(gone: ReadonlySet<string> = new Set()): ShardRegion {
  return new ShardRegion(
    () => "me",
    (host) => (gone.has(host.incarnation) ? undefined : host),
  );
}

describe("the way to a shard", () => {
  it("is asked for once, and here when this host is its home", () => {
    const region = open();
    assert.equal(region.route(1), "ask");
    region.asked(1, 0);
    assert.equal(region.route(1), "wait");
    region.lives(1, home("me"));
    assert.equal(region.route(1), "here");
    assert.deepEqual([...region.held], [1]);
  });

  it("a question that the leader has not answered for the given time counts as unanswered", () => {
    const region = open();
    assert.equal(region.isUnanswered(1, 5_000, 1_000), false, "it was not asked");
    region.asked(1, 0);
    assert.equal(region.isUnanswered(1, 999, 1_000), false);
    assert.equal(region.isUnanswered(1, 1_000, 1_000), true);
    region.asked(1, 1_000);
    assert.equal(region.isUnanswered(1, 1_500, 1_000), false);
    region.lives(1, home("me"));
    assert.equal(region.isUnanswered(1, 5_000, 1_000), false);
  });

  it("leads to another host without asking again, as long as that incarnation is there", () => {
    const gone = new Set<string>();
    const region = open(gone);
    region.asked(1, 0);
    region.lives(1, home("b"));
    assert.deepEqual(region.route(1), home("b"));
    assert.deepEqual(region.belief(1), home("b"));
    gone.add("b");
    region.hostsChanged();
    assert.equal(region.route(1), "ask");
    assert.equal(region.belief(1), undefined);
  });

  it("is asked for again when that host does not have it", () => {
    const region = open();
    region.lives(1, home("b"));
    region.mistaken(1, "c:1");
    assert.deepEqual(region.route(1), home("b"));
    region.mistaken(1, "b:1");
    assert.equal(region.route(1), "ask");
  });

  it("is asked for again by the next call when nobody could be its home", () => {
    const region = open();
    region.asked(1, 0);
    region.livesNowhere(1);
    assert.equal(region.route(1), "ask");
  });

  it("is closed from when a move is heard of until the new home is", () => {
    const region = open();
    region.lives(1, home("b"));
    region.gather(1, 7);
    assert.equal(region.route(1), "wait");
    region.lives(1, home("c"));
    assert.deepEqual(region.route(1), home("c"));
  });
});

describe("the home of a shard that moves", () => {
  it("keeps calls back, stops its actors, says so by the move, and is the home no more", () => {
    const region = open();
    region.lives(1, home("me"));
    region.gather(1, 7);
    assert.equal(region.route(1), "wait");
    assert.equal(region.stop(1, 7), true);
    assert.equal(region.stopped(1), 7);
    assert.deepEqual([...region.held], []);
    assert.equal(region.route(1), "wait");
    region.lives(1, home("b"));
    assert.deepEqual(region.route(1), home("b"));
  });

  it("has nothing to stop when it is not the home after all", () => {
    const region = open();
    assert.equal(region.stop(1, 7), false);
    assert.equal(region.stopped(1), 7);
  });

  it("stops to the end what it has begun to stop, also when the leader changes meanwhile", () => {
    const region = open();
    region.lives(1, home("me"));
    region.gather(1, 7);
    region.stop(1, 7);
    assert.deepEqual(region.joined(0), { asks: [], stopped: [] });
    region.lives(1, home("me"));
    assert.equal(region.route(1), "wait", "its actors are still being stopped");
    assert.equal(region.stopped(1), 7);
    assert.deepEqual(region.joined(0), { asks: [1], stopped: [{ shard: 1, move: 7 }] }, "now it says so again");
    region.lives(1, home("me"));
    assert.equal(region.route(1), "here");
  });
});

describe("a new stream", () => {
  it("asks again what was not answered, and what was kept back for a move that nobody knows any more", () => {
    const region = open();
    region.asked(3, 0);
    region.lives(1, home("b"));
    region.lives(2, home("me"));
    region.gather(1, 7);
    region.gather(2, 8);
    assert.deepEqual(region.joined(0).asks, [1, 2, 3]);
    assert.equal(region.route(1), "wait");
    assert.equal(region.route(2), "here");
  });

  it("asks for what is known as well, which counts until it is answered otherwise", () => {
    const region = open();
    region.lives(1, home("b"));
    region.lives(2, home("me"));
    assert.deepEqual(region.joined(0), { asks: [1, 2], stopped: [] });
    assert.deepEqual(region.route(1), home("b"));
    region.lives(1, home("me"));
    assert.equal(region.route(1), "here");
  });

  it("says again that a shard was stopped, which may have been lost, until it is heard where it lives", () => {
    const region = open();
    region.lives(1, home("me"));
    region.gather(1, 7);
    region.stop(1, 7);
    region.stopped(1);
    assert.deepEqual(region.joined(0), { asks: [1], stopped: [{ shard: 1, move: 7 }] });
    assert.equal(region.route(1), "wait");
    region.lives(1, home("b"));
    assert.deepEqual(region.joined(0).stopped, []);
  });

  it("knows nothing after the lease was lost", () => {
    const region = open();
    region.lives(1, home("me"));
    region.lives(2, home("b"));
    region.gather(2, 1);
    region.asked(3, 0);
    region.clear();
    assert.deepEqual(
      [1, 2, 3].map((shard) => region.route(shard)),
      ["ask", "ask", "ask"],
    );
    assert.deepEqual(region.joined(0), { asks: [], stopped: [] });
  });
});
