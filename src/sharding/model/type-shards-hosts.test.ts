// The possible homes of shards, changed settings of a type, and views of moves.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ShardEffect, ShardHost, ShardSettings } from "./shard-effects.ts";
import { TypeShards } from "./type-shards.ts";

const SETTINGS: ShardSettings = {
  shards: 10,
  movesAtOnce: 1,
  rebalanceMs: 10_000,
  handOffMs: 5_000,
  chooseMs: 1_000,
  minHosts: 1,
  startMs: 10_000,
};
const host = (incarnation: string, build = "") => ({ incarnation, address: `${incarnation}:1`, name: "", build });

describe("hosts of a type", () => {
  it("a host that leaves hands over shards from before this leader", () => {
    const shards = new TypeShards(SETTINGS, [[3, "a"]], 0);
    // The host announced it on its first stream to this leader, before it was ever a possible home.
    assert.deepEqual(shards.setRegions([host("b")], 0, ["a"]), [{ kind: "beginHandOff", shard: 3, move: 1 }]);
    assert.deepEqual(shards.handOffBegun(3, 1, []), [{ kind: "handOff", shard: 3, move: 1, host: "a", to: undefined }]);
    assert.deepEqual(shards.shardStopped(3, 1, "a", false, 1), [{ kind: "allocate", shard: 3, asker: undefined }]);
  });

  it("a host that has not connected yet keeps its shards", () => {
    const shards = new TypeShards(SETTINGS, [[3, "a"]], 0);
    assert.deepEqual(shards.setRegions([host("b")], 0), []);
    assert.deepEqual(shards.requested(3, "b", 0), [{ kind: "home", shard: 3, host: "a", to: ["b"] }]);
  });

  it("hosts of the newest build get shards without a usable answer of the strategy", () => {
    const shards = new TypeShards(SETTINGS, [[1, "new"]], 0);
    shards.setRegions([host("old", "1.9"), host("new", "1.10")], 0);
    shards.requested(7, "old", 0);
    assert.deepEqual(shards.allocated(7, undefined), [{ kind: "persist", shard: 7, host: "new" }]);
  });

  it("a request for a shard that does not exist is answered with no home", () => {
    const shards = new TypeShards(SETTINGS, [], 0);
    shards.setRegions([host("a")], 0);
    assert.deepEqual(shards.requested(10, "a", 0), [{ kind: "noHome", shard: 10, to: ["a"] }]);
    assert.equal(shards.homeOf(10), undefined);
  });

  it("hosts may have other limits from one version to the next", () => {
    const homes = [0, 1, 2].map((shard) => [shard, "a"] as const);
    const shards = new TypeShards(SETTINGS, homes, 0);
    shards.setRegions([host("a"), host("b")], 0);
    const all = homes.map(([shard]) => ({ shard, to: "b" }));
    shards.adopt({ ...SETTINGS, movesAtOnce: 0 });
    assert.equal(shards.movesProposed(all, 0).length, 0);
    shards.adopt({ ...SETTINGS, movesAtOnce: 3 });
    assert.equal(shards.movesProposed(all, 0).length, 1);
  });
});

describe("the required number of hosts", () => {
  const patient = { ...SETTINGS, minHosts: 3 };
  const allocated = (effects: readonly ShardEffect[]): number[] =>
    effects.flatMap((effect) => (effect.kind === "allocate" ? [effect.shard] : []));

  it("no shard gets its first home before as many hosts are there as the type asks for, and then all that wait do", () => {
    const shards = new TypeShards(patient, [], 0);
    shards.setRegions([host("a"), host("b")], 0);
    assert.deepEqual([...shards.requested(1, "a", 0), ...shards.requested(2, "b", 0)], []);
    assert.deepEqual(shards.tick(60_000), [], "who has asked keeps waiting");
    assert.deepEqual(shards.allocated(1, "a"), []);
    assert.deepEqual(allocated(shards.setRegions([host("a"), host("b"), host("c")], 0)), [1, 2]);
    shards.allocated(1, "c");
    shards.persisted(1, "c", 0);
    // Only the first home waits for that number: hosts may go afterwards.
    shards.setRegions([host("a")], 0);
    assert.deepEqual(allocated(shards.requested(3, "a", 0)), [3]);
  });

  it("a leader that finds homes from before waits for no further hosts", () => {
    const shards = new TypeShards(patient, [[7, "a"]], 0);
    shards.setRegions([host("a")], 0);
    assert.deepEqual(allocated(shards.requested(1, "a", 0)), [1]);
  });

  it("fewer hosts are enough as soon as the hosts of the type say so", () => {
    const shards = new TypeShards(patient, [], 0);
    shards.setRegions([host("a")], 0);
    shards.requested(1, "a", 0);
    shards.adopt(SETTINGS);
    assert.deepEqual(allocated(shards.setRegions([host("a")], 0)), [1]);
  });
});

describe("a home that is announced", () => {
  const confirming = (name: string) => ({ ...host(name), confirms: true });
  const announce = (hosts: readonly ShardHost[] = [confirming("a"), confirming("b")]): TypeShards => {
    const shards = new TypeShards(SETTINGS, [], 0);
    shards.setRegions(hosts, 0);
    shards.requested(7, "b", 0);
    shards.allocated(7, "a");
    shards.persisted(7, "a", 0);
    shards.pause(true, 0);
    return shards;
  };
  const toA: ShardEffect = { kind: "home", shard: 7, host: "a", to: ["a"] };
  const { startMs } = SETTINGS;

  it("the leader announces a home again, to that host alone, until the host confirms it", () => {
    const shards = announce();
    assert.equal(shards.deadline <= startMs, true);
    assert.deepEqual(shards.tick(startMs - 1), []);
    assert.deepEqual(shards.tick(startMs), [toA]);
    shards.confirmed(7, "b");
    assert.deepEqual(shards.tick(2 * startMs), [toA], "only the home itself can confirm it");
    shards.confirmed(7, "a");
    assert.deepEqual(shards.tick(100 * startMs), []);
    assert.deepEqual(shards.returned("a", 0), []);
  });

  it("the leader announces an unconfirmed home at once to a host that has a new stream", () => {
    const shards = announce();
    assert.deepEqual(shards.returned("b", 5), []);
    assert.deepEqual(shards.returned("a", 5), [toA]);
    assert.deepEqual(shards.tick(startMs), []);
    assert.deepEqual(shards.tick(startMs + 5), [toA]);
  });

  it("a host of the previous release, which does not confirm, is not notified again", () => {
    const shards = announce([host("a"), host("b")]);
    assert.deepEqual(shards.tick(startMs), []);
    assert.deepEqual(shards.returned("a", 0), []);
  });

  it("a home that the previous leader wrote, and may not have announced, is announced when its host does not confirm it", () => {
    const shards = new TypeShards(SETTINGS, [[7, "a"]], 0);
    shards.pause(true, 0);
    shards.setRegions([confirming("a")], 0);
    assert.deepEqual(shards.tick(startMs), [toA]);
  });

  it("a home that moves away or is lost is not announced any more", () => {
    const lost = announce();
    lost.gone("a", 0);
    assert.deepEqual(lost.tick(startMs), []);
    const moved = announce();
    moved.moveByHand(7, "b", 0);
    moved.handOffBegun(7, 1, []);
    assert.deepEqual(moved.tick(startMs), [], "while it moves its home hears other things");
    moved.shardStopped(7, 1, "a", false, 0);
    assert.deepEqual(moved.returned("a", 0), []);
  });
});

describe("views of moves", () => {
  it("a move in progress has a phase, a reason, and the hosts whose acknowledgement is missing", () => {
    const shards = new TypeShards(SETTINGS, [[3, "a"]], 0);
    shards.setRegions([host("a"), host("b")], 0);
    assert.deepEqual(shards.moves(), []);
    shards.moveByHand(3, "b", 100);
    shards.handOffBegun(3, 1, ["a", "b", "c"]);
    shards.handOffAcked(3, 1, "b");
    const move = { shard: 3, reason: "by hand", from: "a", to: "b", startedAt: 100 };
    assert.deepEqual(shards.moves(), [{ ...move, phase: "buffering", waitsFor: ["a", "c"] }]);
    shards.handOffAcked(3, 1, "a");
    shards.handOffAcked(3, 1, "c");
    assert.deepEqual(shards.moves(), [{ ...move, phase: "stopping", waitsFor: ["a"] }]);
    shards.shardStopped(3, 1, "a", true, 150);
    assert.deepEqual(shards.moves(), [{ ...move, phase: "persisting", waitsFor: [] }]);
    const effects = shards.persisted(3, "b", 160);
    assert.deepEqual(effects.at(-1), {
      kind: "moved",
      shard: 3,
      from: "a",
      to: "b",
      reason: "by hand",
      tookMs: 60,
      wasForced: true,
    });
    assert.deepEqual(shards.moves(), []);
  });

  it("a shard whose host was lost is listed as a move as well, from its first request on", () => {
    const shards = new TypeShards(SETTINGS, [[3, "a"]], 0);
    shards.setRegions([host("a"), host("b")], 0);
    assert.deepEqual(shards.gone("a", 10), [{ kind: "persist", shard: 3, host: undefined }]);
    shards.requested(3, "b", 500);
    shards.allocated(3, "b");
    assert.deepEqual(shards.persisted(3, "b", 530).at(-1), {
      kind: "moved",
      shard: 3,
      from: "a",
      to: "b",
      reason: "lost",
      tookMs: 30,
      wasForced: false,
    });
    // Each loss is listed once.
    shards.gone("b", 600);
    shards.setRegions([host("c")], 600);
    shards.requested(3, "c", 700);
    shards.allocated(3, "c");
    assert.deepEqual(
      shards.persisted(3, "c", 700).map((effect) => effect.kind === "moved" && effect.from),
      [false, "b"],
    );
  });

  it("the move of a shard without a possible home ends nowhere, even if that is noticed late", () => {
    const shards = new TypeShards(SETTINGS, [], 0);
    shards.setRegions([host("a")], 0);
    shards.requested(5, "a", 0);
    shards.gone("a", 10);
    assert.ok(shards.deadline <= 1_000);
    shards.tick(1_000);
    assert.ok(shards.deadline > 1_000, "it would be looked at again and again");
  });
});

describe("a shard whose home the restored store has forgotten", () => {
  it("the shard stays at the host that names it, also while another host is chosen or saved", () => {
    for (const steps of ["nothing", "allocating", "persisting"]) {
      const shards = new TypeShards(SETTINGS, [], 0);
      shards.setRegions([host("a"), host("b")], 0);
      if (steps !== "nothing") shards.requested(3, "b", 0);
      if (steps === "persisting") shards.allocated(3, "b");
      const answers = steps === "nothing" ? [] : [{ kind: "home", shard: 3, host: "a", to: ["b"] }];
      assert.deepEqual(shards.held(3, "a"), [{ kind: "persist", shard: 3, host: "a" }, ...answers], steps);
      assert.deepEqual(shards.allocated(3, "b"), []);
      assert.deepEqual(shards.persisted(3, "b", 1), []);
      assert.equal(shards.homeOf(3), "a");
      assert.deepEqual(shards.requested(3, "b", 2), [{ kind: "home", shard: 3, host: "a", to: ["b"] }]);
    }
  });

  it("the home that the leader has announced counts, and the other host is told of it", () => {
    const shards = new TypeShards(SETTINGS, [[3, "b"]], 0);
    shards.setRegions([host("a"), host("b")], 0);
    assert.deepEqual(shards.held(3, "a"), []);
    assert.deepEqual(shards.requested(3, "a", 0), [{ kind: "home", shard: 3, host: "b", to: ["a"] }]);
  });
});
