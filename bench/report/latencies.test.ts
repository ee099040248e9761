import assert from "node:assert/strict";
import { test } from "node:test";
import { latenciesOf, quantile } from "./latencies.ts";

test("every call is made once and measured, and the number of calls in flight stays within the limit", async () => {
  const seen = new Set<number>();
  let now = 0;
  let most = 0;
  const took = await latenciesOf(50, 8, async (call) => {
    seen.add(call);
    most = Math.max(most, ++now);
    await new Promise(setImmediate);
    now--;
  });
  assert.equal(seen.size, 50);
  assert.equal(most, 8);
  assert.ok(took.every((ms) => ms > 0));
});

test("a quantile is one of the values, and that share of them is not above it", () => {
  const values = Float64Array.from([5, 1, 4, 2, 3, 10, 9, 8, 7, 6]);
  assert.equal(quantile(values, 0.5), 5);
  assert.equal(quantile(values, 0.99), 10);
  assert.equal(quantile(values, 0), 1);
  assert.deepEqual([...values.slice(0, 3)], [5, 1, 4]);
});

test("there is no quantile of an empty list", () => {
  assert.throws(() => quantile(new Float64Array(), 0.5), /nothing/);
});
