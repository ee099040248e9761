// The rounds of a namespace, as stories: the messages of hosts, and line by line the leader's effects.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { COALESCE_MS, LEASE_MS, memberOf, ROUND_MS, Stage, unlocked } from "./namespace-kit.test.ts";

describe("a new cluster", () => {
  it("the first host of a new cluster is recorded, and then has a table without any wait", () => {
    const stage = new Stage();
    stage.persists = false;
    assert.deepEqual(stage.hello(1, "a", ["cart"]), ["a joined", "welcome → 1", "save a cart"]);
    assert.deepEqual(stage.wait(), []);
    // The first snapshot of a new host holds its own rings. No other host holds anything, so no
    // acknowledgement is needed.
    assert.deepEqual(stage.saved("a", "cart").at(-1), "snapshot cart 1 {a} → 1");
    assert.equal(stage.phase("cart"), "settled");
    assert.deepEqual(stage.wait(), []);
  });

  it("a host that joins others gets its snapshot when it is recorded, together with the round that names it", () => {
    const stage = Stage.settled("a", "cart");
    stage.persists = false;
    assert.deepEqual(stage.hello(2, "b", ["cart", "room"]), ["b joined", "welcome → 2", "save b cart,room"]);
    assert.deepEqual(stage.saved("b", "cart", "room").at(-1), "settled room");
    assert.deepEqual(stage.wait(), [
      "lock 3 cart → 1",
      "update 3 cart 2/1 {ab} → 1",
      "snapshot cart 1 {a} room 1 {b} → 2",
      "lock 3 cart → 2",
      "update 3 cart 2/1 {ab} → 2",
    ]);
    assert.deepEqual(stage.ack([1], "update", 3, "cart"), [], "the new host is waited for as well");
    assert.deepEqual(stage.ack([2], "update", 3, "cart"), ["unlock 3 cart → 1,2"]);
  });

  it("a host that comes back gets its snapshot at once, also while its types are being recorded", () => {
    const stage = Stage.settled("ab", "cart");
    stage.persists = false;
    stage.closed(2);
    assert.deepEqual(stage.hello(3, "b", ["cart", "room"], unlocked("cart", 2)), [
      ...["b returned", "welcome → 3", "save b cart,room", "snapshot cart 2/1 {ab} room? → 3"],
    ]);
    stage.types(1);
    assert.deepEqual(stage.wait(), ["lock 3 cart → 1,3", "update 3 cart 3/2 {b} → 1,3"], "it hears every round");
  });

  it("types that come together begin in one round, and each of them ends it by itself", () => {
    const stage = Stage.settled("a", "cart", "room");
    stage.hello(2, "b", ["cart", "room"]);
    const lines = stage.wait();
    assert.deepEqual(lines.slice(0, 2), ["lock 2 cart room → 1", "update 2 cart 2/1 {ab} room 2/1 {ab} → 1"]);
    assert.deepEqual(stage.ack([1, 2], "update", 2, "room"), ["unlock 2 room → 1,2"]);
    assert.deepEqual(stage.ack([1, 2], "unlock", 2, "room"), ["settled room"]);
    assert.equal(stage.phase("cart"), "updating");
    assert.deepEqual(stage.follow([1, 2], 2, "cart", "room"), ["unlock 2 cart → 1,2", "settled cart"]);
  });

  it("a type whose first host goes before it was recorded has an empty table", () => {
    const stage = new Stage();
    stage.persists = false;
    stage.hello(2, "w", []);
    stage.hello(1, "a", ["cart"]);
    assert.deepEqual(stage.send(1, { kind: "goodbye" }), [
      "a removed",
      "drop a",
      "lock 1 cart → 2",
      "update 1 cart 1 {} → 2",
      "unlock 1 cart → 2",
      "settled cart",
    ]);
    assert.deepEqual(stage.saved("a", "cart"), ["drop a"]);
  });
});

describe("joins and leaves", () => {
  it("joins and leaves within the window become one round", () => {
    const stage = Stage.settled("a", "cart");
    stage.hello(2, "b", ["cart"]);
    stage.hello(3, "c", ["cart"]);
    assert.deepEqual(stage.wait(), [
      ...["lock 2 cart → 1", "update 2 cart 2/1 {abc} → 1"],
      ...["snapshot cart 1 {a} → 2", "lock 2 cart → 2", "update 2 cart 2/1 {abc} → 2"],
      ...["snapshot cart 1 {a} → 3", "lock 2 cart → 3", "update 2 cart 2/1 {abc} → 3"],
    ]);
  });

  it("joins and leaves during a round become one round after it", () => {
    const stage = Stage.settled("a", "cart");
    stage.hello(2, "b", ["cart"]);
    stage.wait();
    stage.hello(3, "c", ["cart"]);
    stage.hello(4, "d", ["cart"]);
    stage.send(3, { kind: "goodbye" });
    assert.deepEqual(stage.wait(), []);
    stage.ack([1, 2], "update", 2, "cart");
    assert.deepEqual(stage.ack([1, 2], "unlock", 2, "cart"), [
      "settled cart",
      "lock 3 cart → 1,2,4",
      "update 3 cart 3/2 {abd} → 1,2,4",
    ]);
  });

  it("joins and leaves of one type do not touch another one, and their rounds run side by side", () => {
    const stage = Stage.settled("ab", "cart", "room");
    stage.types(1, "cart");
    assert.deepEqual(stage.wait(), ["lock 3 room → 1,2", "update 3 room 3/2 {b} → 1,2"]);
    stage.types(2, "room");
    assert.deepEqual(stage.wait(), ["lock 4 cart → 1,2", "update 4 cart 3/2 {a} → 1,2"]);
    assert.deepEqual(stage.follow([1, 2], 4, "cart"), ["unlock 4 cart → 1,2", "settled cart", "save b room"]);
    assert.equal(stage.phase("room"), "updating");
    assert.deepEqual(stage.follow([1, 2], 3, "room"), ["unlock 3 room → 1,2", "settled room", "save a cart"]);
  });

  it("joins and leaves of one namespace are unknown to another", () => {
    const [one, other] = [new Stage(), new Stage([], { namespace: "other" })];
    one.hello(1, "a", ["cart"]);
    assert.deepEqual(other.controller.view(), { hosts: [], types: [] });
    assert.deepEqual(other.send(1, { kind: "goodbye" }), []);
    assert.deepEqual(other.hello(1, "a", ["cart"]).at(-1), "snapshot cart 1 {a} → 1");
  });

  it("every round has a reason, for metrics", () => {
    const stage = Stage.settled("a", "cart");
    const effects = [...stage.controller.dead("a", stage.now), ...stage.controller.tick(stage.now + COALESCE_MS)];
    const began = effects.find(({ kind }) => kind === "began");
    assert.equal(began?.kind === "began" && began.reason, "lost");
  });
});

describe("an acknowledgement", () => {
  it("an acknowledgement counts for the round, the operation and the types it names, and for nothing else", () => {
    const stage = Stage.settled("a", "cart");
    stage.hello(2, "b", ["cart"]);
    stage.wait();
    for (const [operation, round, type] of [
      ["update", 1, "cart"],
      ["update", 3, "cart"],
      ["update", 2, "room"],
      ["unlock", 2, "cart"],
      ["lock", 2, "cart"],
    ] as const) {
      assert.deepEqual(stage.ack([1, 2], operation, round, type), []);
    }
    assert.deepEqual(stage.ack([1, 1, 1], "update", 2, "cart"), []);
    assert.deepEqual(stage.ack([2], "update", 2, "cart"), ["unlock 2 cart → 1,2"]);
  });

  it("an acknowledgement of a round of the previous leader fits no round of this one", () => {
    const stage = new Stage([memberOf("a", "cart")], { term: 2 });
    stage.hello(1, "a", ["cart"], unlocked("cart", 3));
    assert.deepEqual(stage.send(1, { kind: "ack", operation: "update", round: 2 ** 24 + 1, types: ["cart"] }), []);
    assert.equal(stage.phase("cart"), "updating");
  });

  it("an acknowledgement on a stream without a hello, or of a removed host, is ignored", () => {
    const stage = Stage.settled("ab", "cart");
    stage.types(2);
    stage.wait();
    stage.ack([2], "update", 3, "cart");
    assert.deepEqual(stage.ack([9], "update", 3, "cart"), []);
    stage.hello(4, "a", ["cart"], unlocked("cart", 2));
    assert.deepEqual(stage.ack([1], "update", 3, "cart"), []);
    assert.deepEqual(stage.ack([4], "update", 3, "cart"), ["unlock 3 cart → 2,4"]);
  });
});

describe("a silent host", () => {
  it("a silent host in a round loses only its stream; the round goes on when its lease is over", () => {
    const stage = Stage.settled("ab", "cart");
    stage.renew(1, 2);
    stage.hello(3, "c", ["cart"]);
    stage.wait();
    stage.ack([1, 3], "update", 3, "cart");
    stage.renew(1, 2, 3);
    // The leader repeats the orders to this host alone before it closes the stream.
    assert.deepEqual(stage.wait(ROUND_MS / 2), ["lock 3 cart → 2", "update 3 cart 3/2 {abc} → 2"]);
    assert.deepEqual(stage.wait(ROUND_MS / 2 - 1), []);
    assert.deepEqual(stage.wait(1), ["b evicted", "close 2 NOT_READY"]);
    assert.deepEqual(stage.renew(2), []);
    assert.deepEqual(stage.renew(1, 3), ["renewed 5 → 1", "renewed 5 → 3"]);
    assert.deepEqual(stage.wait(LEASE_MS - ROUND_MS - 1), []);
    assert.equal(stage.phase("cart"), "updating");
    assert.deepEqual(stage.wait(1), ["b removed", "drop b", "unlock 3 cart → 1,3"]);
    assert.deepEqual(stage.ack([1, 3], "unlock", 3, "cart"), [
      "settled cart",
      "lock 4 cart → 1,3",
      "update 4 cart 4/3 {ac} → 1,3",
    ]);
  });

  it("a host that does not acknowledge UNLOCK is sent UNLOCK again, of all types at once", () => {
    const stage = Stage.settled("ab", "cart", "room");
    stage.types(1);
    stage.wait();
    stage.ack([1, 2], "update", 3, "cart", "room");
    stage.ack([1], "unlock", 3, "cart", "room");
    assert.deepEqual(stage.wait(ROUND_MS / 2), ["unlock 3 cart room → 2"]);
    assert.deepEqual(stage.ack([2], "unlock", 3, "cart", "room"), ["settled cart", "drop a", "settled room"]);
  });

  it("an evicted host is notified to start over, and the round goes on when it has", () => {
    const stage = Stage.settled("ab", "cart");
    stage.renew(1, 2);
    stage.types(1);
    stage.wait();
    stage.ack([1], "update", 3, "cart");
    stage.renew(1, 2);
    stage.wait(ROUND_MS);
    assert.deepEqual(stage.hello(5, "b", ["cart"], unlocked("cart", 2)), ["removed → 5"]);
    const lines = stage.hello(6, "B", ["cart"], { address: "b:1", replaces: "b" });
    assert.deepEqual(lines.slice(0, 4), ["b removed", "drop b", "unlock 3 cart → 1", "B joined"]);
    assert.equal(stage.phase("cart"), "unlocking");
  });

  it("the only host of a type may start over without an empty table in between", () => {
    const stage = Stage.settled("a", "cart");
    stage.persists = false;
    stage.hello(2, "b", ["cart"], { replaces: "a", address: "a:1" });
    assert.deepEqual(stage.wait(), []);
    assert.deepEqual(stage.saved("b", "cart"), []);
    assert.deepEqual(stage.wait().at(-1), "snapshot cart 2/1 {b} → 2");
  });

  it("a silent host is evicted in every type, and no other host is", () => {
    const stage = Stage.settled("ab", "cart", "room");
    stage.renew(1, 2);
    stage.types(1, "room");
    stage.wait();
    stage.ack([1], "update", 3, "cart");
    stage.renew(1, 2);
    assert.deepEqual(stage.wait(ROUND_MS), ["b evicted", "close 2 NOT_READY"]);
    // Its other types are given to others as well; they, too, wait for its lease.
    assert.deepEqual(stage.wait(), ["lock 4 room → 1", "update 4 room 3/2 {a} → 1"]);
    stage.ack([1], "update", 4, "room");
    assert.equal(stage.phase("room"), "updating");
    stage.renew(1);
    stage.wait(LEASE_MS - ROUND_MS - COALESCE_MS);
    assert.equal(stage.phase("room"), "unlocking");
    assert.equal(stage.phase("cart"), "unlocking");
  });

  it("a silent host stays in the tables while its lease lasts, and leaves them afterwards", () => {
    const stage = Stage.settled("ab", "cart");
    stage.renew(1, 2);
    assert.deepEqual(stage.closed(2), ["b suspect"]);
    stage.wait(LEASE_MS / 2);
    stage.renew(1);
    assert.deepEqual(stage.wait(LEASE_MS / 2 - 1), []);
    assert.deepEqual(stage.wait(1), ["b removed", "drop b"]);
    assert.deepEqual(stage.wait(), ["lock 3 cart → 1", "update 3 cart 3/2 {a} → 1"]);
  });

  it("a host with a stream is notified when its lease is over", () => {
    const stage = Stage.settled("ab", "cart");
    stage.renew(1, 2);
    stage.wait(LEASE_MS / 2);
    stage.renew(1);
    assert.deepEqual(stage.wait(LEASE_MS / 2), ["b removed", "removed → 2", "drop b"]);
  });

  it("the leader does not wait for a silent host whose process is known to have ended", () => {
    const stage = Stage.settled("ab", "cart");
    stage.closed(2);
    assert.deepEqual(stage.dead("b"), ["b removed", "drop b"]);
    assert.deepEqual(stage.wait(), ["lock 3 cart → 1", "update 3 cart 3/2 {a} → 1"]);
    assert.deepEqual(stage.dead("b"), []);
  });

  it("the leader does not wait for a silent host when it trusts a closed connection", () => {
    const stage = new Stage([], { failover: "fast" });
    stage.hello(1, "a", ["cart"]);
    stage.hello(2, "b", ["cart"]);
    stage.wait();
    stage.ack([1], "update", 2, "cart");
    assert.deepEqual(stage.closed(2), ["b removed", "drop b", "unlock 2 cart → 1"]);
    assert.deepEqual(stage.hello(3, "b", ["cart"], unlocked("cart", 1)), ["removed → 3"]);
  });
});

describe("a host that returns during a round", () => {
  it("a host that returns during a round gets the last finished table and then the round, and its acknowledgement counts", () => {
    const stage = Stage.settled("ab", "cart");
    stage.types(1);
    stage.wait();
    stage.closed(2);
    assert.deepEqual(stage.hello(7, "b", ["cart"], unlocked("cart", 2)), [
      "b returned",
      "welcome → 7",
      "snapshot cart 2/1 {ab} → 7",
      "lock 3 cart → 7",
      "update 3 cart 3/2 {b} → 7",
    ]);
    assert.deepEqual(stage.ack([1, 7], "update", 3, "cart"), ["unlock 3 cart → 1,7"]);
  });

  it("a host that returns during a round gets UNLOCK, if it was sent", () => {
    const stage = Stage.settled("ab", "cart");
    stage.types(1);
    stage.wait();
    stage.ack([1, 2], "update", 3, "cart");
    assert.deepEqual(stage.hello(7, "b", ["cart"], unlocked("cart", 2)).slice(-3), [
      "lock 3 cart → 7",
      "update 3 cart 3/2 {b} → 7",
      "unlock 3 cart → 7",
    ]);
    assert.deepEqual(stage.ack([1, 7], "unlock", 3, "cart").slice(0, 1), ["settled cart"]);
  });

  it("a host that returns before the end of its old stream is noticed has the old stream closed", () => {
    const stage = Stage.settled("a", "cart");
    assert.deepEqual(stage.hello(7, "a", ["cart"], unlocked("cart", 1)), [
      "close 1 PROTOCOL",
      "a returned",
      "welcome → 7",
      "snapshot cart 1 {a} → 7",
    ]);
    assert.deepEqual(stage.closed(1), []);
    assert.deepEqual(stage.renew(7), ["renewed 5 → 7"]);
  });

  it("the types of a host that returns with other ones change", () => {
    const stage = Stage.settled("ab", "cart");
    stage.closed(2);
    assert.ok(stage.hello(7, "b", ["room"], unlocked("cart", 2)).includes("save b cart,room"));
    assert.deepEqual(stage.wait(), ["lock 4 cart → 1,7", "update 4 cart 3/2 {a} → 1,7"]);
  });
});

describe("a goodbye", () => {
  it("a goodbye costs one round, which does not wait for the host", () => {
    const stage = Stage.settled("ab", "cart");
    assert.deepEqual(stage.send(2, { kind: "goodbye" }), ["b removed", "drop b"]);
    assert.deepEqual(stage.closed(2), []);
    assert.deepEqual(stage.wait(), ["lock 3 cart → 1", "update 3 cart 3/2 {a} → 1"]);
  });

  it("a round goes on without a host that sends goodbye, in either half", () => {
    const stage = Stage.settled("abc", "cart");
    stage.types(1);
    stage.wait();
    stage.ack([1, 2], "update", 3, "cart");
    assert.deepEqual(stage.send(3, { kind: "goodbye" }), ["c removed", "drop c", "unlock 3 cart → 1,2"]);
    stage.ack([1], "unlock", 3, "cart");
    stage.now += COALESCE_MS;
    assert.deepEqual(stage.send(2, { kind: "goodbye" }), [
      "b removed",
      "drop b",
      "settled cart",
      "drop a",
      "lock 4 cart → 1",
      "update 4 cart 4/3 {} → 1",
      "unlock 4 cart → 1",
      "settled cart",
    ]);
  });
});

describe("the next deadline", () => {
  it("the next deadline is the first of leases, windows and rounds", () => {
    const stage = new Stage();
    assert.equal(stage.controller.deadline, Number.POSITIVE_INFINITY);
    stage.hello(1, "a", ["cart"]);
    assert.equal(stage.controller.deadline, LEASE_MS);
    stage.hello(2, "b", ["cart"]);
    assert.equal(stage.controller.deadline, COALESCE_MS);
    stage.wait();
    assert.equal(stage.controller.deadline, stage.now + ROUND_MS / 2);
  });
});

describe("a broken precondition", () => {
  it("a host that has not connected to this leader cannot have been persisted by it", () => {
    const stage = new Stage([memberOf("a", "cart")]);
    assert.throws(() => stage.saved("a", "cart"), {
      code: "INVARIANT",
      message: /before its types are persisted; host a: expected, stream -, types \[cart\], held \[cart\], saving -/,
    });
  });
});
