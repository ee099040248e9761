// The hosts of a namespace and their types, as stories: the messages of hosts, and the leader's effects.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../kernel/limits.ts";
import { COALESCE_MS, LEASE_MS, Stage, unlocked } from "./namespace-kit.test.ts";

describe("a host without types", () => {
  it("a host without types receives all orders, and no round waits for it", () => {
    const stage = new Stage();
    assert.deepEqual(stage.hello(9, "w", []), ["w joined", "welcome → 9", "snapshot → 9"]);
    assert.deepEqual(stage.hello(1, "a", ["cart"]).slice(3), [
      ...["lock 1 cart → 9", "update 1 cart 1 {a} → 9", "unlock 1 cart → 9", "settled cart"],
      "snapshot cart 1 {a} → 1",
    ]);
    stage.hello(2, "b", ["cart"]);
    stage.wait();
    assert.deepEqual(stage.ack([1, 2], "update", 2, "cart"), ["unlock 2 cart → 9,1,2"]);
    assert.deepEqual(stage.ack([1, 2], "unlock", 2, "cart"), ["settled cart"]);
    assert.deepEqual(stage.ack([9], "unlock", 2, "cart"), []);
  });

  it("a host without types is gone with its stream, without a write and without a round", () => {
    const stage = Stage.settled("a", "cart");
    stage.hello(9, "w", []);
    assert.deepEqual(stage.closed(9), ["w removed"]);
    assert.deepEqual(stage.wait(), []);
  });

  it("a host without types that does not renew is removed, and is notified", () => {
    const stage = new Stage();
    stage.hello(9, "w", []);
    stage.wait(LEASE_MS - 1);
    assert.deepEqual(stage.wait(1), ["w removed", "removed → 9"]);
    assert.deepEqual(stage.renew(9), []);
  });

  it("a host without types becomes a host of a type when it reports one", () => {
    const stage = Stage.settled("a", "cart");
    stage.hello(2, "b", []);
    assert.deepEqual(stage.types(2, "cart"), ["save b cart"]);
    assert.deepEqual(stage.wait(), ["lock 2 cart → 1,2", "update 2 cart 2/1 {ab} → 1,2"]);
  });
});

describe("changes of types at run time", () => {
  it("new types of a host are recorded before they are granted, one write at a time", () => {
    const stage = Stage.settled("a", "cart");
    stage.persists = false;
    assert.deepEqual(stage.types(1, "cart", "room"), ["save a cart,room"]);
    assert.deepEqual(stage.types(1, "cart", "room", "user"), []);
    assert.deepEqual(stage.wait(), []);
    assert.deepEqual(stage.saved("a", "cart", "room"), [
      "save a cart,room,user",
      "lock 2 room → 1",
      "update 2 room 1 {a} → 1",
    ]);
    assert.deepEqual(stage.saved("a", "cart", "room", "user"), ["lock 3 user → 1", "update 3 user 1 {a} → 1"]);
  });

  it("types given up stay in the record until a finished round has shown that no actor is left", () => {
    const stage = Stage.settled("ab", "cart", "room");
    assert.deepEqual(stage.types(2, "room"), []);
    stage.wait();
    stage.ack([1, 2], "update", 3, "cart");
    assert.deepEqual(stage.ack([2], "unlock", 3, "cart"), []);
    assert.equal(stage.held("b"), "cart,room");
    assert.deepEqual(stage.ack([1], "unlock", 3, "cart"), ["settled cart", "save b room"]);
    assert.equal(stage.held("b"), "room");
  });

  it("types given up one after the other leave the record, although one write is still in progress", () => {
    const stage = Stage.settled("ab", "cart", "room", "user");
    stage.persists = false;
    stage.types(2, "user");
    stage.wait();
    assert.deepEqual(stage.follow([1, 2], 3, "cart").slice(1), ["settled cart", "save b room,user"]);
    assert.deepEqual(stage.follow([1, 2], 3, "room").slice(1), ["settled room"]);
    assert.deepEqual(stage.saved("b", "room", "user"), ["save b user"]);
    assert.deepEqual(stage.saved("b", "user"), []);
    assert.equal(stage.held("b"), "user");
  });

  it("types given up before they were recorded leave the record when it is written", () => {
    const stage = Stage.settled("ab", "cart");
    stage.persists = false;
    stage.hello(3, "c", ["cart"]);
    stage.types(3);
    assert.deepEqual(stage.saved("c", "cart"), ["drop c", "snapshot cart 2/1 {ab} → 3"]);
    assert.equal(stage.held("c"), "");
    assert.deepEqual(stage.wait(), []);
  });

  it("types given up after they were recorded, but before a round has begun, leave the record at once", () => {
    const stage = Stage.settled("ab", "cart", "room");
    stage.hello(3, "c", ["cart", "room"]);
    assert.deepEqual(stage.types(3, "room"), ["save c room"]);
    stage.closed(3);
    assert.equal(stage.hello(4, "c", []).at(-1), "drop c");
    assert.deepEqual(stage.wait(), []);
  });

  it("types given up by a host that has no others leave no record", () => {
    const stage = Stage.settled("ab", "cart");
    stage.types(2);
    stage.wait();
    assert.deepEqual(stage.follow([1, 2], 3, "cart"), ["unlock 3 cart → 1,2", "settled cart", "drop b"]);
    // The host has no types now.
    assert.deepEqual(stage.closed(2), ["b removed"]);
  });

  it("types given up by the home of some of their shards stay in its record until it has handed those over", () => {
    const stage = Stage.settled("ab", "cart");
    let isHome = true;
    stage.controller.isHome = (incarnation) => incarnation === "b" && isHome;
    stage.types(2);
    stage.wait();
    assert.deepEqual(stage.follow([1, 2], 3, "cart"), ["unlock 3 cart → 1,2", "settled cart"]);
    assert.equal(stage.held("b"), "cart");
    // Its actors may run for as long as its lease lasts.
    assert.deepEqual(stage.closed(2), ["b suspect"]);
    assert.deepEqual(stage.handedOver("b"), []);
    isHome = false;
    assert.deepEqual(stage.handedOver("b"), ["drop b"]);
    assert.deepEqual(stage.handedOver("nobody"), []);
  });

  it("types given up and taken back in time cost nothing", () => {
    const stage = Stage.settled("ab", "cart");
    stage.types(2);
    stage.types(2, "cart");
    assert.deepEqual(stage.wait(), []);
  });

  it("types taken back during the round that removes them lead to another one, without a write", () => {
    const stage = Stage.settled("ab", "cart");
    stage.types(2);
    stage.wait();
    stage.types(2, "cart");
    stage.now += COALESCE_MS;
    stage.ack([1, 2], "update", 3, "cart");
    assert.deepEqual(stage.ack([1, 2], "unlock", 3, "cart"), [
      "settled cart",
      "lock 4 cart → 1,2",
      "update 4 cart 4/3 {ab} → 1,2",
    ]);
  });

  it("the number of types of a host is limited", () => {
    const stage = new Stage();
    const many = Array.from({ length: LIMITS.typesPerHost + 1 }, (_, i) => `type-${i}`);
    assert.deepEqual(stage.hello(1, "a", many), ["close 1 PROTOCOL"]);
    stage.hello(2, "b", ["cart"]);
    assert.deepEqual(stage.types(2, ...many), ["close 2 PROTOCOL"]);
    assert.equal(stage.held("b"), "cart");
  });

  it("a type without a host ends with an empty table", () => {
    const stage = Stage.settled("a", "cart");
    stage.hello(9, "w", []);
    stage.types(1);
    assert.deepEqual(stage.wait(), ["lock 2 cart → 1,9", "update 2 cart 2/1 {} → 1,9"]);
    assert.deepEqual(stage.follow([1], 2, "cart"), ["unlock 2 cart → 1,9", "settled cart", "drop a"]);
  });
});

describe("the address of a host", () => {
  it("an address has one host; another one is rejected until the first is gone", () => {
    const stage = Stage.settled("a", "cart");
    stage.renew(1);
    assert.deepEqual(stage.hello(2, "b", ["cart"], { address: "a:1" }), ["close 2 ADDRESS_IN_USE"]);
    stage.closed(1);
    assert.deepEqual(stage.hello(3, "b", ["cart"], { address: "a:1" }), ["close 3 ADDRESS_IN_USE"]);
    stage.wait(LEASE_MS);
    assert.equal(stage.hello(4, "b", ["cart"], { address: "a:1" })[0], "b joined");
  });

  it("an address is free at once for the incarnation that replaces its host", () => {
    const stage = Stage.settled("a", "cart");
    const lines = stage.hello(2, "A", ["cart"], { address: "a:1", replaces: "a" });
    assert.deepEqual(lines.slice(0, 3), ["a removed", "drop a", "A joined"]);
    assert.deepEqual(stage.wait().at(-1), "snapshot cart 2/1 {A} → 2");
  });

  it("an address is not freed by a host that replaces another one, or none", () => {
    const stage = Stage.settled("ab", "cart");
    for (const replaces of ["x", "c"]) {
      assert.deepEqual(stage.hello(3, "c", ["cart"], { address: "a:1", replaces }), ["close 3 ADDRESS_IN_USE"]);
    }
  });

  it("a new host at the address of an earlier one owns nothing: the leader withholds tables that list the earlier one", () => {
    const stage = Stage.settled("ab", "cart");
    stage.persists = false;
    stage.send(2, { kind: "goodbye" });
    assert.deepEqual(stage.hello(3, "B", ["cart"], { address: "b:1" }), ["B joined", "welcome → 3", "save B cart"]);
    assert.deepEqual(stage.wait(), ["lock 3 cart → 1", "update 3 cart 3/2 {a} → 1"]);
    // The new host would find its address in the finished table, and no round would wait for actors it then
    // holds.
    assert.deepEqual(stage.saved("B", "cart"), [
      ...["snapshot cart? → 3", "lock 3 cart → 3", "update 3 cart 3/2 {a} → 3"],
    ]);
  });

  it("a table of a round in progress that lists an earlier host at the address is withheld as well", () => {
    const stage = Stage.settled("ab", "cart");
    stage.persists = false;
    stage.types(1);
    stage.wait();
    stage.send(2, { kind: "goodbye" });
    stage.hello(3, "B", ["cart"], { address: "b:1" });
    assert.deepEqual(stage.saved("B", "cart"), ["snapshot cart? → 3"]);
  });

  it("a host that reports types later needs an address, too", () => {
    const stage = new Stage();
    stage.hello(1, "a", [], { address: "nowhere:1" });
    assert.deepEqual(stage.types(1, "cart"), ["close 1 PROTOCOL"]);
    assert.equal(stage.held("a"), "");
  });
});

describe("an incarnation that was removed", () => {
  it("a removed incarnation that comes back with its tables is notified", () => {
    const stage = Stage.settled("ab", "cart");
    stage.dead("b");
    assert.deepEqual(stage.hello(7, "b", ["cart"], unlocked("cart", 2)), ["removed → 7"]);
  });

  it("a removed incarnation that comes back without types is notified while a table still lists it", () => {
    const stage = Stage.settled("ab", "cart");
    stage.dead("b");
    // The host drains: it has no types, but by its table it may hold actors, and no round waits for it.
    assert.deepEqual(stage.hello(7, "b", [], unlocked("cart", 2)), ["removed → 7"]);
  });

  it("a removed incarnation that comes back before it had a table is notified while a table lists it", () => {
    const stage = Stage.settled("a", "cart");
    stage.hello(2, "b", ["cart"]);
    stage.wait();
    stage.dead("b");
    assert.deepEqual(stage.hello(7, "b", ["cart"]), ["removed → 7"]);
  });

  it("messages of a removed incarnation are ignored", () => {
    const stage = Stage.settled("ab", "cart");
    stage.dead("b");
    assert.deepEqual(stage.renew(2), []);
    assert.deepEqual(stage.types(2, "room"), []);
  });
});

describe("a drain by an operator", () => {
  it("an operator can drain a host by address, name or incarnation", () => {
    const stage = Stage.settled("ab", "cart");
    for (const which of ["b:1", "host b", "b"]) {
      assert.deepEqual(stage.controller.drain(which), [{ kind: "send", streams: [2], message: { kind: "drain" } }]);
    }
    assert.equal(stage.controller.drain("nobody"), undefined);
    stage.closed(2);
    assert.equal(stage.controller.drain("b"), undefined);
  });
});

describe("a renewal", () => {
  it("a renewal is answered with its sequence and records the number of actors", () => {
    const stage = Stage.settled("a", "cart");
    assert.deepEqual(stage.renew(1), ["renewed 5 → 1"]);
    assert.equal(stage.controller.view().hosts[0]?.actors, 3);
    assert.equal(stage.controller.view().hosts[0]?.leaseUntil, stage.now + LEASE_MS);
  });
});
