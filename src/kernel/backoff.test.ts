import assert from "node:assert/strict";
import { it } from "node:test";
import { backoffMs } from "./backoff.ts";

it("a pause doubles with each failure, up to the longest one", () => {
  const pauses = [0, 1, 2, 3, 4, 1_000, 1e9].map((failures) => backoffMs(failures, 20, 200));
  assert.deepEqual(pauses, [20, 40, 80, 160, 200, 200, 200]);
});

it("a random number spreads a pause over its second half", () => {
  assert.deepEqual(
    [0, 0.5, 0.75].map((chance) => backoffMs(2, 20, 1_000, chance)),
    [40, 60, 70],
  );
});

it("a first pause of 0 stays 0", () => {
  assert.equal(backoffMs(1e9, 0, 1_000), 0);
});
