import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ShardStates } from "./shard-states.ts";

/** A shard at home, after its first request. */
function settled(): ShardStates {
  const states = new ShardStates([]);
  states.request(7, "a", 0);
  states.persist(7, "a");
  states.settle(7, "a");
  return states;
}

/** The same shard on its way to b, while `waiting` have to acknowledge. */
function moving(waiting: readonly string[] = []): ShardStates {
  const states = settled();
  states.buffer(7, "b", "balance", 0, 1_000);
  states.waitFor(7, waiting);
  return states;
}

const refuses = (transition: () => unknown, text: string): void => {
  assert.throws(transition, (error: { code?: string; message: string }) => {
    assert.equal(error.code, "INVARIANT");
    assert.ok(error.message.includes(text), error.message);
    return true;
  });
};

describe("the states of shards", () => {
  it("a shard passes through all phases from its first request to the end of a move", () => {
    const states = settled();
    assert.equal(states.homes.get(7), "a");
    assert.equal(states.busy.size, 0);
    assert.equal(states.buffer(7, "b", "balance", 0, 1_000), 1);
    assert.deepEqual([states.deadline, states.due(999), states.due(1_000)], [1_000, [], [7]]);
    states.waitFor(7, ["a", "b"]);
    assert.deepEqual([states.waitsNot(7, "a"), states.waitsNot(7, "a"), states.waitsNot(7, "b")], [true, false, true]);
    assert.equal(states.stop(7).move.from, "a");
    states.free(7);
    states.allocate(7);
    states.persist(7, "b");
    states.settle(7, "b");
    assert.deepEqual([...states.homes], [[7, "b"]]);
    assert.deepEqual([states.busy.size, states.moving.size, states.deadline], [0, 0, Number.POSITIVE_INFINITY]);
  });

  it("a requested shard must not have a home, nor be on its way to one", () => {
    refuses(() => settled().request(7, "b", 0), "shard 7: home, home a; 1 homes, 0 busy, 0 moving");
    refuses(() => moving().request(7, "b", 0), "shard 7: buffering, home a, to b, move 1 (balance) from a");
  });

  it("no second home is allocated or persisted while the first one counts", () => {
    refuses(() => moving().allocate(7), "shard 7: buffering, home a");
    refuses(() => moving().persist(7, "b"), "a home is persisted after its allocation");
    refuses(() => settled().persist(7, "b"), "the shard is on its way to a home; shard 7: home, home a");
  });

  it("a home counts only after the write of that very host", () => {
    const states = new ShardStates([]);
    states.request(7, "a", 0);
    refuses(() => states.settle(7, "a"), "shard 7: allocating; 0 homes, 1 busy, 0 moving");
    states.persist(7, "a");
    refuses(() => states.settle(7, "b"), "a home counts when it is durable; shard 7: persisting, to a");
    refuses(() => states.withdraw(7), "a choice in the store is not withdrawn");
    refuses(() => states.abandon(7), "a shard without a choice is abandoned");
  });

  it("a shard is restored at a host only while no other one was announced", () => {
    refuses(() => settled().restore(7, "b"), "a shard with a home is not restored");
    const states = moving();
    states.stop(7);
    states.free(7);
    refuses(() => states.restore(7, "c"), "a shard that moves is not restored; shard 7: stopping, to b, move 1");
  });

  it("a shard moves once at a time, from its home to another one", () => {
    refuses(() => new ShardStates([]).buffer(7, "b", "balance", 0, 0), "shard 7: none; 0 homes");
    refuses(() => settled().buffer(7, "a", "balance", 0, 0), "a shard moves from its home to another one");
    refuses(() => moving().buffer(7, "c", "by hand", 0, 0), "a shard moves once at a time");
  });

  it("a shard stops only when no host is waited for, and only once", () => {
    const states = moving(["b", "c"]);
    refuses(() => states.stop(7), "a shard stops when no host is waited for; shard 7: buffering");
    refuses(() => states.stop(7), "waits for b c");
    for (const host of ["b", "c"]) states.waitsNot(7, host);
    states.stop(7);
    refuses(() => states.stop(7), "a shard stops after its calls are buffered; shard 7: stopping");
    refuses(() => states.waitFor(7, ["b"]), "hosts acknowledge a shard that buffers");
  });

  it("a shard becomes free once, and is notified again only to its home", () => {
    const states = settled();
    states.requireHome(7, "a");
    refuses(() => states.requireHome(7, "b"), "only the home of a shard is notified of it again");
    states.free(7);
    refuses(() => states.free(7), "a shard with a home becomes free; shard 7: none");
  });

  it("a refused transition changes nothing", () => {
    const states = moving(["b"]);
    const before = states.describe(7);
    const transitions = [
      () => states.request(7, "c", 0),
      () => states.allocate(7),
      () => states.persist(7, "c"),
      () => states.settle(7, "c"),
      () => states.restore(7, "c"),
      () => states.buffer(7, "c", "balance", 0, 0),
      () => states.stop(7),
      () => states.abandon(7),
    ];
    for (const transition of transitions) refuses(transition, "");
    assert.equal(states.describe(7), before);
  });
});
