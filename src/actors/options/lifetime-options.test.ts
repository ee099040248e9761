// What sharded() refuses of how long its actors stay, and what it makes of the rest.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { LifetimeOptions } from "./lifetime-options.ts";
import { resolveSharded, type ShardedOptions, sharded } from "./sharded-options.ts";

const resolve = (options: ShardedOptions) => resolveSharded(sharded(options), "Cart.options.placement");

describe("how long sharded actors stay", () => {
  it("is not limited, and they are not remembered, unless it is said", () => {
    const { maxActive, remembered } = resolve({});
    assert.deepEqual([maxActive, remembered], [undefined, undefined]);
    assert.equal(resolve({ remember: false, maxActive: 10 }).maxActive, 10);
  });

  it("has sensible values for remembered ones, which may be said otherwise", () => {
    const usual = { startsPerSecond: 1_000, restartAfterMs: 10_000, restartAtMostMs: 300_000 };
    assert.deepEqual(resolve({ remember: true }).remembered, usual);
    const said = resolve({ remember: true, startsPerSecond: 5, restartAfter: "1m", restartAtMost: "2m" });
    assert.deepEqual(said.remembered, { startsPerSecond: 5, restartAfterMs: 60_000, restartAtMostMs: 120_000 });
    assert.equal(resolve({ remember: true, restartAfter: "10m" }).remembered?.restartAtMostMs, 600_000);
  });

  const wrong: [options: Record<keyof LifetimeOptions & string, unknown> | object, why: RegExp][] = [
    ...[0, -1, 1.5, Number.NaN, "3", null, Number.POSITIVE_INFINITY, 1e12].map((maxActive): [object, RegExp] => [
      { maxActive },
      /placement\.maxActive must be a whole number between 1 and/,
    ]),
    ...["yes", 1, null, {}].map((remember): [object, RegExp] => [
      { remember },
      /placement\.remember must be true or false, not/,
    ]),
    ...[0, -5, 0.5, "many", null].map((startsPerSecond): [object, RegExp] => [
      { remember: true, startsPerSecond },
      /placement\.startsPerSecond must be a whole number between 1 and/,
    ]),
    [{ remember: true, restartAfter: 0 }, /placement\.restartAfter must be longer than nothing/],
    [{ remember: true, restartAfter: "soon" }, /placement\.restartAfter: "soon" is not a duration/],
    [
      { remember: true, restartAfter: "1m", restartAtMost: "30s" },
      /restartAtMost must not be shorter than restartAfter; got 30s and 1m/,
    ],
    [{ restartAtMost: "1m" }, /restartAtMost says something of remembered actors: set remember: true/],
    [{ remember: true, maxActive: 5 }, /choose one/],
    [{ restartAfter: "1s" }, /restartAfter says something of remembered actors: set remember: true/],
    [{ remember: false, startsPerSecond: 5 }, /startsPerSecond says something of remembered actors/],
    [{ rember: true }, /sharded\(\) has no option "rember".*remember/],
    [{ maxactive: 3 }, /sharded\(\) has no option "maxactive".*maxActive/],
  ];
  for (const [options, why] of wrong) {
    const shown = Object.entries(options).map(([key, value]) => `${key}: ${String(value)}`);
    it(`refuses ${shown.join(", ")}`, () => {
      assert.throws(() => resolve(options as ShardedOptions), { code: "OPTION_INVALID", message: why });
    });
  }
});
