import assert from "node:assert/strict";
import { test } from "node:test";
import type { Turn } from "../activation/turn.ts";
import { CallRoute } from "./call-route.ts";
import { InFlightCalls } from "./in-flight.ts";

const callTo = (id: string): Turn => {
  const route = new CallRoute();
  return { type: { name: "Cart" }, id, route, routed: () => route } as Turn;
};

for (const shard of [7, undefined]) {
  const what = shard === undefined ? "an actor without a known shard" : "a shard";

  test(`a call to ${what} waits for the calls in flight to other hosts, and for no others`, () => {
    const underway = new InFlightCalls();
    assert.equal(underway.waitsFor(callTo("a"), "new:1", shard), false);
    underway.left(callTo("a"), "old:1", shard);
    assert.equal(underway.waitsFor(callTo("a"), "new:1", shard), true);
    assert.equal(underway.waitsFor(callTo("a"), undefined, shard), true);
    assert.equal(underway.waitsFor(callTo("a"), "old:1", shard), false, "one connection keeps the order");
    assert.equal(underway.waitsFor(callTo("b"), "new:1", shard && shard + 1), false);
  });

  test(`the last returning call to ${what} reports whether other calls waited for it`, () => {
    const underway = new InFlightCalls();
    const [first, second, third] = [callTo("a"), callTo("a"), callTo("a")];
    underway.left(first, "old:1", shard);
    underway.left(second, "old:1", shard);
    underway.waitsFor(third, "new:1", shard);
    assert.equal(underway.landed(first, "old:1"), undefined);
    assert.equal(underway.landed(second, "old:1")?.key, shard ?? "a");
    assert.equal(underway.landed(second, "old:1"), undefined);
    assert.deepEqual([underway.has("Cart", "a", shard), underway.isEmpty], [false, true]);
    underway.left(third, "new:1", shard);
    assert.deepEqual([underway.has("Cart", "a", shard), underway.isEmpty], [true, false]);
    assert.equal(underway.landed(third, "new:1"), undefined, "nobody waited");
  });

  test(`the calls to ${what} are counted per address after any move`, () => {
    const underway = new InFlightCalls();
    const turns = ["one:1", "two:1", "one:1", "three:1", "two:1"].map((to) => ({ to, turn: callTo("a") }));
    for (const { to, turn } of turns) underway.left(turn, to, shard);
    for (const { to, turn } of turns.slice(0, 4)) underway.landed(turn, to);
    assert.equal(underway.waitsFor(callTo("a"), "two:1", shard), false);
    assert.equal(underway.waitsFor(callTo("a"), "one:1", shard), true);
    assert.equal(underway.landed(turns[4]!.turn, "two:1")?.key, shard ?? "a");
    assert.equal(underway.isEmpty, true);
  });

  test(`a call to ${what} does not follow calls that will be rejected like the one before them`, () => {
    const underway = new InFlightCalls();
    const [first, second, third] = [callTo("a"), callTo("a"), callTo("a")];
    underway.left(first, "old:1", shard);
    underway.left(second, "old:1", shard);
    underway.landed(first, "old:1");
    underway.refused(first, "old:1", shard);
    assert.equal(underway.waitsFor(first, "old:1", shard), true, "it would overtake the second");
    assert.equal(underway.waitsFor(third, "old:1", shard), true);
    assert.equal(underway.landed(second, "old:1")?.key, shard ?? "a");
    underway.refused(second, "old:1", shard);
    assert.equal(underway.waitsFor(first, "old:1", shard), false, "nobody is there any more");
  });
}
