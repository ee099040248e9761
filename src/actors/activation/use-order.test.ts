import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import type { Activation } from "./activation.ts";
import { UseOrder } from "./use-order.ts";

const fake = (id: number): Activation =>
  ({ id: String(id), older: undefined, newer: undefined }) as unknown as Activation;

it("the order of use equals a list after any additions, uses and removals", () => {
  const step = fc.record({ verb: fc.constantFrom("add", "touch", "remove"), which: fc.nat(20) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const order = new UseOrder();
      let model: Activation[] = [];
      for (const [n, { verb, which }] of steps.entries()) {
        const one = model[which % (model.length || 1)];
        if (verb === "add") {
          const fresh = fake(n);
          order.add(fresh);
          model.push(fresh);
        } else if (one !== undefined) {
          if (verb === "touch") order.touch(one);
          else order.remove(one);
          model = model.filter((other) => other !== one);
          if (verb === "touch") model.push(one);
        }
        const seen: Activation[] = [];
        for (let at = order.oldest; at !== undefined; at = at.newer) seen.push(at);
        assert.deepEqual(
          seen.map(({ id }) => id),
          model.map(({ id }) => id),
        );
      }
    }),
  );
});

it("an activation that is not in the order cannot be removed from it", () => {
  const order = new UseOrder();
  order.add(fake(1));
  assert.throws(() => order.remove(fake(2)), { code: "INVARIANT" });
});
