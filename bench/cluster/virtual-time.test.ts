import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { VirtualTime } from "./virtual-time.ts";

test("things happen in the order of their moments, and in the order asked for at the same moment", () => {
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

test("what happens may ask for more", () => {
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
