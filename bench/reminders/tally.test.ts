import assert from "node:assert/strict";
import { test } from "node:test";
import { monotonicMs, wallOffset } from "./moments.ts";
import { Tally, type TallyReport } from "./tally.ts";

test("handled items are reported with number and time, in order", () => {
  const tally = new Tally();
  tally.answer({ begin: 3 });
  const before = monotonicMs();
  for (const item of [2, 0, 2]) tally.hit(item);
  const after = monotonicMs();
  const { hits } = tally.answer("report") as TallyReport;
  assert.equal(tally.answer("handled"), 3);
  assert.deepEqual([hits[0], hits[2], hits[4]], [2, 0, 2]);
  for (const moment of [hits[1]!, hits[3]!, hits[5]!]) assert.ok(before <= moment && moment <= after);
});

test("a new count begins empty, and nothing is counted before the first", () => {
  const tally = new Tally();
  tally.hit(0);
  assert.equal(tally.answer("handled"), 0);
  tally.answer({ begin: 1 });
  tally.hit(0);
  tally.answer({ begin: 1 });
  assert.equal(tally.answer("handled"), 0);
});

test("the wall clock is the monotonic one with an offset, to the millisecond in which it is read", () => {
  const offset = wallOffset();
  const least = Date.now();
  const wall = monotonicMs() + offset;
  const most = Date.now() + 1;
  assert.ok(least - 1 <= wall && wall <= most + 1, `${least} ${wall} ${most}`);
});
