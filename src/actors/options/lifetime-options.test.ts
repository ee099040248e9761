// Lifetime options of sharded(): rejected values, defaults, and resolved values.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { LifetimeOptions } from "./lifetime-options.ts";
import { resolveSharded, type ShardedOptions, sharded } from "./sharded-options.ts";

const resolve = (options: ShardedOptions) => resolveSharded(sharded(options), "Cart.options.placement");

describe("lifetime options of sharded types", () => {
  it("sharded actors are neither limited nor remembered by default", () => {
    const { maxActive, remembered } = resolve({});
    assert.deepEqual([maxActive, remembered], [undefined, undefined]);
    assert.equal(resolve({ remember: false, maxActive: 10 }).maxActive, 10);
  });

  it("remembered actors have sensible defaults, and options change them", () => {
    const usual = { startsPerSecond: 1_000, restartAfterMs: 10_000, restartAtMostMs: 300_000 };
    assert.deepEqual(resolve({ remember: true }).remembered, usual);
    const resolved = resolve({ remember: true, startsPerSecond: 5, restartAfter: "1m", restartAtMost: "2m" });
    assert.deepEqual(resolved.remembered, { startsPerSecond: 5, restartAfterMs: 60_000, restartAtMostMs: 120_000 });
    assert.equal(resolve({ remember: true, restartAfter: "10m" }).remembered?.restartAtMostMs, 600_000);
  });

  const wrong: [options: Record<keyof LifetimeOptions & string, unknown> | object, why: RegExp][] = [
    ...[0, -1, 1.5, Number.NaN, "3", null, Number.POSITIVE_INFINITY, 1e12].map((maxActive): [object, RegExp] => [
      { maxActive },
      /placement\.maxActive must be a whole number from 1 to/,
    ]),
    ...["yes", 1, null, {}].map((remember): [object, RegExp] => [
      { remember },
      /placement\.remember must be true or false; got/,
    ]),
    ...[0, -5, 0.5, "many", null].map((startsPerSecond): [object, RegExp] => [
      { remember: true, startsPerSecond },
      /placement\.startsPerSecond must be a whole number from 1 to/,
    ]),
    [{ remember: true, restartAfter: 0 }, /placement\.restartAfter must be longer than 0/],
    [{ remember: true, restartAfter: "soon" }, /placement\.restartAfter: "soon" is not a duration/],
    [
      { remember: true, restartAfter: "1m", restartAtMost: "30s" },
      /restartAtMost must not be shorter than restartAfter; got 30s and 1m/,
    ],
    [{ restartAtMost: "1m" }, /restartAtMost applies to remembered actors only; set remember: true or remove it/],
    [{ remember: true, maxActive: 5 }, /maxActive evicts actors .* set only one of them/],
    [{ restartAfter: "1s" }, /restartAfter applies to remembered actors only; set remember: true or remove it/],
    [{ remember: false, startsPerSecond: 5 }, /startsPerSecond applies to remembered actors only/],
    [{ rember: true }, /sharded\(\) has no option "rember".*remember/],
    [{ maxactive: 3 }, /sharded\(\) has no option "maxactive".*maxActive/],
  ];
  for (const [options, why] of wrong) {
    const shown = Object.entries(options).map(([key, value]) => `${key}: ${String(value)}`);
    it(`sharded() rejects ${shown.join(", ")}`, () => {
      assert.throws(() => resolve(options as ShardedOptions), { code: "OPTION_INVALID", message: why });
    });
  }
});
