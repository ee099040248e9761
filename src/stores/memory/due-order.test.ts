import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Due, DueOrder } from "./due-order.ts";

test("rows come out earliest first after any additions and removals", () => {
  const moment = fc.nat(20);
  const steps = fc.array(
    fc.oneof({ weight: 3, arbitrary: moment }, { weight: 2, arbitrary: moment.map((n) => -1 - n) }),
    {
      maxLength: 3_000,
      size: "max",
    },
  );
  fc.assert(
    fc.property(steps, (all) => {
      const order = new DueOrder<Due>();
      const here: Due[] = [];
      for (const [generation, step] of all.entries()) {
        if (step >= 0) {
          const row = { at: step, generation };
          order.add(row);
          here.push(row);
        } else if (here.length > 0) {
          const [gone] = here.splice((-step * 7_919) % here.length, 1);
          assert.equal(order.remove(gone!), true);
          assert.equal(order.remove(gone!), false);
        }
      }
      here.sort((a, b) => a.at - b.at || a.generation - b.generation);
      assert.deepEqual([...order], here);
      assert.equal(order.size, here.length);
    }),
    { numRuns: 30 },
  );
});

test("many rows added backwards and drained from the front stay in order", () => {
  const order = new DueOrder<Due>();
  const count = 20_000;
  for (let i = count; i > 0; i--) order.add({ at: i, generation: i });
  for (let expected = 1; expected <= count; expected++) {
    const [first] = order;
    assert.equal(first?.at, expected);
    order.remove(first!);
  }
  assert.deepEqual([...order], []);
});
