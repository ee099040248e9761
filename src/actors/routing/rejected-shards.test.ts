import assert from "node:assert/strict";
import { test } from "node:test";
import { RejectedShards } from "./rejected-shards.ts";

const [line, other] = [{}, {}];

test("a call behind a rejected one on the same connection is rejected too, if it is for the same shard", () => {
  const sentBack = new RejectedShards();
  assert.equal(sentBack.isEmpty, true);
  sentBack.add(line, "Cart", 7);
  assert.equal(sentBack.isEmpty, false);
  assert.equal(sentBack.isBehind(line, "Cart", 7, 0), true);
  assert.equal(sentBack.isBehind(line, "Cart", 7, 0), true);
  assert.equal(sentBack.isBehind(line, "Cart", 8, 0), false);
  assert.equal(sentBack.isBehind(line, "Order", 7, 0), false);
  assert.equal(sentBack.isBehind(other, "Cart", 7, 0), false);
});

test("a call that was rejected before may stay, and so may later ones", () => {
  const sentBack = new RejectedShards();
  sentBack.add(line, "Cart", 7);
  assert.equal(sentBack.isBehind(line, "Cart", 7, 1), false);
  assert.equal(sentBack.isBehind(line, "Cart", 7, 0), false);
});
