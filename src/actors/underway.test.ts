import assert from "node:assert/strict";
import { test } from "node:test";
import type { Turn } from "./turn.ts";
import { Underway } from "./underway.ts";

const callTo = (id: string, arrival: number): Turn => ({ type: { name: "Cart" }, id, arrival }) as Turn;
const counts = (): boolean => true;

test("a call waits for older ones that are on their way elsewhere, and for no others", () => {
  const underway = new Underway();
  const [first, second] = [callTo("a", 1), callTo("a", 2)];
  underway.left(first, "old:1");
  assert.equal(underway.waitsFor(second, "new:1", counts), true);
  assert.equal(underway.waitsFor(second, undefined, counts), true);
  assert.equal(underway.waitsFor(second, "old:1", counts), false, "one connection keeps the order");
  assert.equal(
    underway.waitsFor(second, "new:1", () => false),
    false,
    "that host is gone",
  );
  assert.equal(underway.waitsFor(callTo("b", 3), "new:1", counts), false);
  assert.equal(underway.waitsFor(callTo("a", 0), "new:1", counts), false, "it is older");
});

test("the last one that comes back tells whether somebody waited for it", () => {
  const underway = new Underway();
  const [first, second, third] = [callTo("a", 1), callTo("a", 2), callTo("a", 3)];
  underway.left(first, "old:1");
  underway.left(second, "old:1");
  underway.waitsFor(third, "new:1", counts);
  assert.equal(underway.landed(first, "old:1"), false);
  assert.equal(underway.landed(second, "old:1"), true);
  assert.equal(underway.landed(second, "old:1"), false);
  assert.equal(underway.has("Cart", "a"), false);
  underway.left(third, "new:1");
  assert.equal(underway.has("Cart", "a"), true);
  assert.equal(underway.landed(third, "new:1"), false, "nobody waited");
});
