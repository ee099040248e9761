import assert from "node:assert/strict";
import { test } from "node:test";
import { RejectedShards } from "./rejected-shards.ts";

const [line, other] = [{}, {}];
const fresh = { id: "a", hops: 0 };

test("a call behind a rejected one on the same connection is rejected too, if it is for the same shard", () => {
  const rejected = new RejectedShards();
  assert.equal(rejected.isEmpty, true);
  rejected.add(line, "Cart", 7, "a");
  assert.equal(rejected.isEmpty, false);
  assert.equal(rejected.isBehind(line, "Cart", 7, fresh), true);
  assert.equal(rejected.isBehind(line, "Cart", 7, { id: "b", hops: 0 }), true);
  assert.equal(rejected.isBehind(line, "Cart", 8, fresh), false);
  assert.equal(rejected.isBehind(line, "Order", 7, fresh), false);
  assert.equal(rejected.isBehind(other, "Cart", 7, fresh), false);
});

test("a call that was rejected before may stay, and so may later ones of its shard", () => {
  const rejected = new RejectedShards();
  rejected.add(line, "Cart", 7, "a");
  assert.equal(rejected.isBehind(line, "Cart", 7, { id: "a", hops: 1 }), false);
  assert.equal(rejected.isBehind(line, "Cart", 7, fresh), false);
  assert.equal(rejected.isBehind(line, "Cart", 7, { id: "b", hops: 0 }), false);
});

test("a call to another actor with hops does not end the rejections of an actor", () => {
  const rejected = new RejectedShards();
  rejected.add(line, "Cart", 7, "a");
  assert.equal(rejected.isBehind(line, "Cart", 7, { id: "b", hops: 1 }), false);
  assert.equal(rejected.isBehind(line, "Cart", 7, fresh), true);
  assert.equal(rejected.isBehind(line, "Cart", 7, { id: "b", hops: 0 }), false);
});

test("a rejection of one actor outlives the return of another actor that was rejected earlier", () => {
  const rejected = new RejectedShards();
  rejected.add(line, "Cart", 7, "b");
  rejected.add(line, "Cart", 7, "a");
  assert.equal(rejected.isBehind(line, "Cart", 7, { id: "b", hops: 1 }), false);
  assert.equal(rejected.isBehind(line, "Cart", 7, fresh), true);
  assert.equal(rejected.isBehind(line, "Cart", 7, { id: "a", hops: 1 }), false);
  assert.equal(rejected.isBehind(line, "Cart", 7, fresh), false);
});

test("the actors remembered per shard are limited, and the oldest are forgotten first", () => {
  const rejected = new RejectedShards();
  for (let n = 0; n <= 1_000; n++) rejected.add(line, "Cart", 7, `actor-${n}`);
  rejected.isBehind(line, "Cart", 7, { id: "b", hops: 1 });
  assert.equal(rejected.isBehind(line, "Cart", 7, { id: "actor-0", hops: 0 }), false);
  assert.equal(rejected.isBehind(line, "Cart", 7, { id: "actor-1", hops: 0 }), true);
  assert.equal(rejected.isBehind(line, "Cart", 7, { id: "actor-1000", hops: 0 }), true);
});
