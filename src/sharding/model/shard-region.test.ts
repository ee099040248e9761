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

describe("the route to a shard", () => {
  it("the home of a shard is requested once, and is here when this host is the home", () => {
    const region = open();
    assert.equal(region.route(1), "ask");
    region.asked(1, 0);
    assert.equal(region.route(1), "wait");
    region.lives(1, home("me"));
    assert.equal(region.route(1), "here");
    assert.deepEqual([...region.held], [1]);
  });

  it("a request that the leader has not answered for the given time counts as unanswered", () => {
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

  it("a known home is used without another request, as long as that incarnation is there", () => {
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

  it("the home is requested again when that host does not have the shard", () => {
    const region = open();
    region.lives(1, home("b"));
    region.mistaken(1, "c:1");
    assert.deepEqual(region.route(1), home("b"));
    region.mistaken(1, "b:1");
    assert.equal(region.route(1), "ask");
  });

  it("the next call requests the home again when no host could be the home", () => {
    const region = open();
    region.asked(1, 0);
    region.livesNowhere(1);
    assert.equal(region.route(1), "ask");
  });

  it("calls wait from the announcement of a move until the new home is announced", () => {
    const region = open();
    region.lives(1, home("b"));
    region.gather(1, 7);
    assert.equal(region.route(1), "wait");
    region.lives(1, home("c"));
    assert.deepEqual(region.route(1), home("c"));
  });
});

describe("the home of a shard that moves", () => {
  it("a home buffers calls, stops its actors, reports that with the number of the move, and is not the home any more", () => {
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

  it("a host that is not the home has nothing to stop", () => {
    const region = open();
    assert.equal(region.stop(1, 7), false);
    assert.equal(region.stopped(1), 7);
  });

  it("a home finishes stopping its actors, also when the leader changes meanwhile", () => {
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
  it("a new stream repeats requests without an answer, and requests shards buffered for a forgotten move", () => {
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

  it("a new stream requests known homes as well, which count until the answer differs", () => {
    const region = open();
    region.lives(1, home("b"));
    region.lives(2, home("me"));
    assert.deepEqual(region.joined(0), { asks: [1, 2], stopped: [] });
    assert.deepEqual(region.route(1), home("b"));
    region.lives(1, home("me"));
    assert.equal(region.route(1), "here");
  });

  it("a new stream repeats that a shard was stopped, which may have been lost, until its home is announced", () => {
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

  it("a host knows no homes after its lease was lost", () => {
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
