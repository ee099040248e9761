import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { VirtualTime } from "./virtual-time.ts";

test("events happen in the order of time, and in the order of their requests at the same time", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 20 })), (moments) => {
      const time = new VirtualTime();
      const happened: [number, number][] = [];
      for (const [order, at] of moments.entries()) time.at(at, (now) => void happened.push([now, order]));
      time.run();
      const expected = moments.map((at, order): [number, number] => [at, order]).sort((a, b) => a[0] - b[0]);
      assert.deepEqual(happened, expected);
    }),
  );
});

test("an event may request another one", () => {
  const time = new VirtualTime();
  const happened: number[] = [];
  time.at(5, (now) => {
    happened.push(now);
    time.at(now + 2, (later) => void happened.push(later));
  });
  time.at(6, (now) => void happened.push(now));
  time.run();
  assert.deepEqual(happened, [5, 6, 7]);
});
