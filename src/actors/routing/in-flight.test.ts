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
    const inFlight = new InFlightCalls();
    assert.equal(inFlight.waitsFor(callTo("a"), "new:1", shard), false);
    inFlight.left(callTo("a"), "old:1", shard);
    assert.equal(inFlight.waitsFor(callTo("a"), "new:1", shard), true);
    assert.equal(inFlight.waitsFor(callTo("a"), undefined, shard), true);
    assert.equal(inFlight.waitsFor(callTo("a"), "old:1", shard), false, "one connection keeps the order");
    assert.equal(inFlight.waitsFor(callTo("b"), "new:1", shard && shard + 1), false);
  });

  test(`the last returning call to ${what} reports whether other calls waited for it`, () => {
    const inFlight = new InFlightCalls();
    const [first, second, third] = [callTo("a"), callTo("a"), callTo("a")];
    inFlight.left(first, "old:1", shard);
    inFlight.left(second, "old:1", shard);
    inFlight.waitsFor(third, "new:1", shard);
    assert.equal(inFlight.landed(first, "old:1"), undefined);
    assert.equal(inFlight.landed(second, "old:1")?.key, shard ?? "a");
    assert.equal(inFlight.landed(second, "old:1"), undefined);
    assert.deepEqual([inFlight.has("Cart", "a", shard), inFlight.isEmpty], [false, true]);
    inFlight.left(third, "new:1", shard);
    assert.deepEqual([inFlight.has("Cart", "a", shard), inFlight.isEmpty], [true, false]);
    assert.equal(inFlight.landed(third, "new:1"), undefined, "nobody waited");
  });

  test(`the calls to ${what} are counted per address after any move`, () => {
    const inFlight = new InFlightCalls();
    const turns = ["one:1", "two:1", "one:1", "three:1", "two:1"].map((to) => ({ to, turn: callTo("a") }));
    for (const { to, turn } of turns) inFlight.left(turn, to, shard);
    for (const { to, turn } of turns.slice(0, 4)) inFlight.landed(turn, to);
    assert.equal(inFlight.waitsFor(callTo("a"), "two:1", shard), false);
    assert.equal(inFlight.waitsFor(callTo("a"), "one:1", shard), true);
    assert.equal(inFlight.landed(turns[4]!.turn, "two:1")?.key, shard ?? "a");
    assert.equal(inFlight.isEmpty, true);
  });

  test(`a call to ${what} does not follow calls that will be rejected like the one before them`, () => {
    const inFlight = new InFlightCalls();
    const [first, second, third] = [callTo("a"), callTo("a"), callTo("a")];
    inFlight.left(first, "old:1", shard);
    inFlight.left(second, "old:1", shard);
    inFlight.landed(first, "old:1");
    inFlight.refused(first, "old:1", shard);
    assert.equal(inFlight.waitsFor(first, "old:1", shard), true, "it would overtake the second");
    assert.equal(inFlight.waitsFor(third, "old:1", shard), true);
    assert.equal(inFlight.landed(second, "old:1")?.key, shard ?? "a");
    inFlight.refused(second, "old:1", shard);
    assert.equal(inFlight.waitsFor(first, "old:1", shard), false, "nobody is there any more");
  });
}
