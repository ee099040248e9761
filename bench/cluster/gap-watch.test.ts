import assert from "node:assert/strict";
import { test } from "node:test";
import { GapWatch } from "./gap-watch.ts";

const everybody = () => true;

test("the longest time between two answers of one actor counts, and answers of others do not shorten it", () => {
  const watch = new GapWatch(2, 0);
  const start = 1_000;
  watch.answered(0, start, start);
  watch.answered(1, start, start);
  watch.begin();
  watch.answered(0, start, start + 20);
  watch.answered(1, start, start + 100);
  watch.answered(0, start, start + 70);
  watch.end(start + 110);
  assert.equal(
    watch.longest((actor) => actor === 0),
    50,
  );
  assert.equal(
    watch.longest((actor) => actor === 1),
    100,
  );
});

test("a gap that was open when the observation began or ended counts as far as it was observed", () => {
  const watch = new GapWatch(1, 0);
  const start = 1_000;
  watch.answered(0, start, start + 10);
  watch.begin();
  watch.answered(0, start, start + 300);
  watch.end(start + 310);
  assert.equal(watch.longest(everybody), 290);
  watch.begin();
  watch.end(start + 1_300);
  assert.equal(watch.longest(everybody), 1_000);
});

test("a failed call is no answer, and is counted only during the observation", () => {
  const watch = new GapWatch(1, 0);
  const start = 1_000;
  watch.failed(new Error("before"));
  watch.answered(0, start, start);
  watch.begin();
  watch.failed(new Error("lost"));
  watch.failed(new Error("lost again"));
  watch.answered(0, start + 40, start + 50);
  watch.end(start + 50);
  watch.failed(new Error("after"));
  assert.equal(watch.failures, 2);
  assert.equal(String(watch.firstFailure), "Error: lost");
  assert.equal(watch.longest(everybody), 50);
});

test("every actor has answered when the slowest has answered a call sent since", () => {
  const watch = new GapWatch(2, 0);
  watch.answered(0, 100, 120);
  watch.answered(1, 90, 130);
  assert.equal(watch.allAnsweredSince(100), false);
  watch.answered(1, 110, 140);
  assert.equal(watch.allAnsweredSince(100), true);
});
