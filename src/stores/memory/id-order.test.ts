import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { byCodePoint } from "./code-points.ts";
import { IdOrder } from "./id-order.ts";

test("ids that come and go are read in order from any position", () => {
  // From few enough ids that many are repeated, and into enough chunks that some are split and some become
  // empty.
  const id = fc.nat(3_000).map((n) => `${n}`);
  const steps = fc.array(fc.record({ id, isAdded: fc.boolean() }), { minLength: 3_000, maxLength: 6_000 });
  fc.assert(
    fc.property(steps, fc.array(fc.record({ after: id, limit: fc.nat(1_500) }), { minLength: 5 }), (steps, looks) => {
      const order = new IdOrder();
      const set = new Set<string>();
      for (let n = 0; n < 1_500; n++) {
        order.add(`${n * 2}`);
        set.add(`${n * 2}`);
      }
      for (const { id, isAdded } of steps) {
        order[isAdded ? "add" : "remove"](id);
        set[isAdded ? "add" : "delete"](id);
      }
      const sorted = [...set].sort(byCodePoint);
      assert.deepEqual(order.behind(undefined, Number.POSITIVE_INFINITY), sorted);
      for (const { after, limit } of looks) {
        const behind = sorted.filter((one) => byCodePoint(one, after) > 0);
        assert.deepEqual(order.behind(after, limit), behind.slice(0, limit));
      }
      for (const one of sorted) order.remove(one);
      assert.equal(order.isEmpty, true);
    }),
    { numRuns: 10 },
  );
});
