import assert from "node:assert/strict";
import { test } from "node:test";
import { eachOnce, pingInFlight, pingOneByOne, repeat } from "./load.ts";

const honest = () => {
  const target = {
    calls: 0,
    ping: async (n: number) => {
      target.calls++;
      return n + 1;
    },
  };
  return target;
};
const liar = { ping: async (n: number) => n + (n === 5 ? 2 : 1) };

test("a wrong answer fails the measurement", async () => {
  await assert.rejects(pingOneByOne(liar, 1), /counted to/);
  await assert.rejects(pingInFlight([liar], 4, 1), /counted to/);
});

test("callers take the targets in turn, so that all get the same number of calls", async () => {
  const targets = Array.from({ length: 10 }, honest);
  await pingInFlight(targets, 4, 1);
  const counts = targets.map((target) => target.calls);
  assert.ok(Math.max(...counts) - Math.min(...counts) <= 1);
});

test("the number of calls in flight stays within the limit, and every call is counted", async () => {
  let now = 0;
  let most = 0;
  let finished = 0;
  const { done } = await repeat(
    async () => {
      most = Math.max(most, ++now);
      await new Promise(setImmediate);
      now--;
      finished++;
    },
    8,
    5,
  );
  assert.equal(most, 8);
  assert.equal(done, finished);
});

test("each number is worked on exactly once", async () => {
  const seen: number[] = [];
  await eachOnce(100, 7, async (call) => {
    await new Promise(setImmediate);
    seen.push(call);
  });
  assert.deepEqual(
    seen.sort((a, b) => a - b),
    Array.from({ length: 100 }, (_, i) => i),
  );
});
