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
    assert.equal(region.route(1), "request");
    region.requested(1, 0);
    assert.equal(region.route(1), "wait");
    region.setHome(1, home("me"));
    assert.equal(region.route(1), "here");
    assert.deepEqual([...region.held], [1]);
  });

  it("a request that the leader has not answered for the given time counts as unanswered", () => {
    const region = open();
    assert.equal(region.isUnanswered(1, 5_000, 1_000), false, "it was not asked");
    region.requested(1, 0);
    assert.equal(region.isUnanswered(1, 999, 1_000), false);
    assert.equal(region.isUnanswered(1, 1_000, 1_000), true);
    region.requested(1, 1_000);
    assert.equal(region.isUnanswered(1, 1_500, 1_000), false);
    region.setHome(1, home("me"));
    assert.equal(region.isUnanswered(1, 5_000, 1_000), false);
  });

  it("a known home is used without another request, as long as that incarnation is there", () => {
    const gone = new Set<string>();
    const region = open(gone);
    region.requested(1, 0);
    region.setHome(1, home("b"));
    assert.deepEqual(region.route(1), home("b"));
    assert.deepEqual(region.cachedHome(1), home("b"));
    gone.add("b");
    region.hostsChanged();
    assert.equal(region.route(1), "request");
    assert.equal(region.cachedHome(1), undefined);
  });

  it("the home is requested again when that host does not have the shard", () => {
    const region = open();
    region.setHome(1, home("b"));
    region.invalidateHome(1, "c:1");
    assert.deepEqual(region.route(1), home("b"));
    region.invalidateHome(1, "b:1");
    assert.equal(region.route(1), "request");
  });

  it("the next call requests the home again when no host could be the home", () => {
    const region = open();
    region.requested(1, 0);
    region.setNoHome(1);
    assert.equal(region.route(1), "request");
  });

  it("calls wait from the announcement of a move until the new home is announced", () => {
    const region = open();
    region.setHome(1, home("b"));
    region.beginHandOff(1, 7);
    assert.equal(region.route(1), "wait");
    region.setHome(1, home("c"));
    assert.deepEqual(region.route(1), home("c"));
  });
});

describe("a request for the home of a shard", () => {
  it("a host that holds a shard does not request its home, and the error prints the state", () => {
    const region = open();
    region.setHome(1, home("me"));
    region.setHome(2, home("b"));
    region.beginHandOff(1, 7);
    assert.throws(() => region.requested(1, 0), {
      code: "INVARIANT",
      message:
        /a host holds no shard that it requests; shard 1: held, buffered for move 7, actors left alone; 1 held, 1 homes, 1 buffered/,
    });
    assert.equal(region.isUnanswered(1, 5_000, 1_000), false, "a refused request changes nothing");
    assert.equal(region.describe(2), "shard 2: not held, home b; 1 held, 1 homes, 1 buffered");
  });
});

describe("the home of a shard that moves", () => {
  it("a home buffers calls, stops its actors, reports that with the number of the move, and is not the home any more", () => {
    const region = open();
    region.setHome(1, home("me"));
    region.beginHandOff(1, 7);
    assert.equal(region.route(1), "wait");
    assert.equal(region.handOff(1, 7), true);
    assert.equal(region.shardStopped(1), 7);
    assert.deepEqual([...region.held], []);
    assert.equal(region.route(1), "wait");
    region.setHome(1, home("b"));
    assert.deepEqual(region.route(1), home("b"));
  });

  it("a host that is not the home has nothing to stop", () => {
    const region = open();
    assert.equal(region.handOff(1, 7), false);
    assert.equal(region.shardStopped(1), 7);
  });

  it("a home finishes stopping its actors, also when the leader changes meanwhile", () => {
    const region = open();
    region.setHome(1, home("me"));
    region.beginHandOff(1, 7);
    region.handOff(1, 7);
    assert.deepEqual(region.joined(0), { requests: [], stopped: [] });
    region.setHome(1, home("me"));
    assert.equal(region.route(1), "wait", "its actors are still being stopped");
    assert.equal(region.shardStopped(1), 7);
    assert.deepEqual(region.joined(0), { requests: [1], stopped: [{ shard: 1, move: 7 }] }, "now it says so again");
    region.setHome(1, home("me"));
    assert.equal(region.route(1), "here");
  });
});

describe("a new stream", () => {
  it("a new stream repeats requests without an answer, and requests shards buffered for a forgotten move", () => {
    const region = open();
    region.requested(3, 0);
    region.setHome(1, home("b"));
    region.setHome(2, home("me"));
    region.beginHandOff(1, 7);
    region.beginHandOff(2, 8);
    assert.deepEqual(region.joined(0).requests, [1, 2, 3]);
    assert.equal(region.route(1), "wait");
    assert.equal(region.route(2), "here");
  });

  it("a new stream requests known homes as well, which count until the answer differs", () => {
    const region = open();
    region.setHome(1, home("b"));
    region.setHome(2, home("me"));
    assert.deepEqual(region.joined(0), { requests: [1, 2], stopped: [] });
    assert.deepEqual(region.route(1), home("b"));
    region.setHome(1, home("me"));
    assert.equal(region.route(1), "here");
  });

  it("a new stream repeats that a shard was stopped, which may have been lost, until its home is announced", () => {
    const region = open();
    region.setHome(1, home("me"));
    region.beginHandOff(1, 7);
    region.handOff(1, 7);
    region.shardStopped(1);
    assert.deepEqual(region.joined(0), { requests: [1], stopped: [{ shard: 1, move: 7 }] });
    assert.equal(region.route(1), "wait");
    region.setHome(1, home("b"));
    assert.deepEqual(region.joined(0).stopped, []);
  });

  it("a host knows no homes after its lease was lost", () => {
    const region = open();
    region.setHome(1, home("me"));
    region.setHome(2, home("b"));
    region.beginHandOff(2, 1);
    region.requested(3, 0);
    region.clear();
    assert.deepEqual(
      [1, 2, 3].map((shard) => region.route(shard)),
      ["request", "request", "request"],
    );
    assert.deepEqual(region.joined(0), { requests: [], stopped: [] });
  });
});
