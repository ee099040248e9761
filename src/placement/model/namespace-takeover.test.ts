// A new leader of a namespace that waits for the members of an earlier one, as stories.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LEASE_MS, memberOf, Stage, unlocked } from "./namespace-kit.test.ts";

describe("a takeover", () => {
  const both = [memberOf("a", "cart"), memberOf("b", "cart")];
  const term = { term: 2 };

  it("a new leader decides nothing about a type until every member that may hold it has connected", () => {
    const stage = new Stage(both, term);
    assert.deepEqual(stage.hello(1, "a", ["cart"], unlocked("cart", 5)), [
      "a returned",
      "welcome → 1",
      "snapshot cart? → 1",
    ]);
    assert.equal(stage.phase("cart"), "closed");
    assert.deepEqual(stage.hello(2, "b", ["cart"], unlocked("cart", 5)).slice(-2), [
      "lock 1 cart → 1,2",
      "update 1 cart 6/5@1 {ab} → 1,2",
    ]);
  });

  it("a new leader goes on without members whose lease is over", () => {
    const stage = new Stage(both, term);
    stage.hello(1, "a", ["cart"], unlocked("cart", 5));
    stage.wait(LEASE_MS / 2);
    stage.renew(1);
    assert.deepEqual(stage.wait(LEASE_MS / 2 - 1), []);
    assert.deepEqual(stage.wait(1), ["b removed", "drop b", "lock 1 cart → 1", "update 1 cart 6/5@1 {a} → 1"]);
  });

  it("a new leader goes on at once without members whose process has ended, or that replaced themselves", () => {
    const stage = new Stage([...both, memberOf("c", "cart")], term);
    stage.hello(1, "a", ["cart"], unlocked("cart", 5));
    assert.deepEqual(stage.dead("b"), ["b removed", "drop b"]);
    const lines = stage.hello(3, "C", [], { address: "c:1", replaces: "c" });
    assert.deepEqual(lines.slice(0, 3), ["c removed", "drop c", "C joined"]);
    assert.equal(lines.at(-1), "update 1 cart 6/5@1 {a} → 1,3");
  });

  it("a new leader waits in a type for the members that may hold it, and in no other type", () => {
    const stage = new Stage([memberOf("a", "cart", "room"), memberOf("b", "cart")], term);
    const lines = stage.hello(1, "a", ["cart", "room"], unlocked("room", 2));
    assert.deepEqual(lines.slice(-2), ["lock 1 room → 1", "update 1 room 3/2@1 {a} → 1"]);
    assert.equal(stage.phase("cart"), "closed");
  });

  it("a first round has no base when members have unlocked different versions; numbers go on from the highest", () => {
    const stage = new Stage(both, term);
    stage.hello(1, "a", ["cart"], unlocked("cart", 5));
    assert.equal(stage.hello(2, "b", ["cart"], unlocked("cart", 6)).at(-1), "update 1 cart 7 {ab} → 1,2");
  });

  it("a first round has no base when the same numbers come from different terms, or a member has unlocked none", () => {
    const stage = new Stage(both, { term: 3 });
    stage.hello(1, "a", ["cart"], unlocked("cart", 5, 1));
    assert.equal(stage.hello(2, "b", ["cart"], unlocked("cart", 5, 2)).at(-1), "update 1 cart 6 {ab} → 1,2");
    const other = new Stage(both, { term: 3 });
    other.hello(1, "a", ["cart"], unlocked("cart", 5, 1));
    assert.equal(other.hello(2, "b", ["cart"]).at(-1), "update 1 cart 6 {ab} → 1,2");
  });

  it("the base of a first round does not depend on members that are gone", () => {
    const stage = new Stage(both, term);
    stage.hello(1, "a", ["cart"], unlocked("cart", 5));
    stage.hello(2, "b", [], unlocked("cart", 6));
    const other = new Stage(both, term);
    other.hello(1, "a", ["cart"], unlocked("cart", 5));
    assert.equal(other.dead("b").at(-1), "update 1 cart 6/5@1 {a} → 1");
  });

  it("the first round waits for a member that has given the type up since, and then removes it from the record", () => {
    const stage = new Stage(both, term);
    stage.hello(1, "a", ["cart"], unlocked("cart", 5));
    assert.equal(stage.hello(2, "b", [], unlocked("cart", 5)).at(-1), "update 1 cart 6/5@1 {a} → 1,2");
    assert.deepEqual(stage.ack([1], "update", 1, "cart"), []);
    assert.deepEqual(stage.ack([2], "update", 1, "cart"), ["unlock 1 cart → 1,2"]);
    assert.deepEqual(stage.ack([1, 2], "unlock", 1, "cart"), ["settled cart", "drop b"]);
  });

  it("a type whose hosts are all gone gets an empty table", () => {
    const stage = new Stage(both, term);
    stage.hello(9, "w", [], unlocked("cart", 5));
    stage.dead("a");
    assert.deepEqual(stage.dead("b").slice(-4), [
      "lock 1 cart → 9",
      "update 1 cart 1 {} → 9",
      "unlock 1 cart → 9",
      "settled cart",
    ]);
  });

  it("a new host waits for types that are not decided, and joins with the first round", () => {
    const stage = new Stage(both, term);
    stage.hello(1, "a", ["cart"], unlocked("cart", 5));
    assert.deepEqual(stage.hello(3, "c", ["cart"]), ["c joined", "welcome → 3", "save c cart", "snapshot cart? → 3"]);
    assert.equal(stage.dead("b").at(-1), "update 1 cart 6 {ac} → 1,3");
  });

  it("no other host is admitted at the address of a member that the leader waits for", () => {
    const stage = new Stage(both, term);
    assert.deepEqual(stage.hello(1, "x", ["cart"], { address: "a:1" }), ["close 1 ADDRESS_IN_USE"]);
  });

  it("a new leader without members has nothing to wait for", () => {
    const stage = new Stage([], term);
    assert.equal(stage.hello(1, "a", ["cart"]).at(-1), "snapshot cart 1 {a} → 1");
  });
});
