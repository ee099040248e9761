import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { resolveSharded, type ShardedOptions, sharded } from "./sharded-options.ts";

const resolve = (options?: unknown) => resolveSharded(sharded(options as ShardedOptions), "Cart.options.placement");

describe("options of sharded types", () => {
  it("shards are spread evenly, within limits, by default", () => {
    assert.deepEqual(resolve().rule, {
      shards: 1_000,
      ownShards: false,
      movesAtOnce: 5,
      rebalanceMs: 10_000,
      handOffMs: 10_000,
      strategy: { kind: "least", absoluteLimit: 100, relativeLimit: 0.1, threshold: 1 },
      minHosts: 1,
      startMs: 10_000,
    });
    assert.equal(resolve().strategy, undefined);
    const { strategy } = resolve({ absoluteLimit: 5, relativeLimit: 1 }).rule;
    assert.deepEqual(strategy, { kind: "least", absoluteLimit: 5, relativeLimit: 1, threshold: 1 });
    assert.deepEqual(resolve({ strategy: "hashed" }).rule.strategy, { kind: "hashed" });
    assert.deepEqual(resolve({ strategy: "external" }).rule.strategy, { kind: "external" });
  });

  it("the deprecated strategy `told` means `external`, and the result names the word to use instead", () => {
    const { rule, deprecated } = resolve({ strategy: "told" });
    assert.deepEqual(rule.strategy, { kind: "external" });
    assert.deepEqual(deprecated, { option: "Cart.options.placement.strategy", value: "told", use: "external" });
    assert.equal(resolve({ strategy: "external" }).deprecated, undefined);
    assert.equal(resolve().deprecated, undefined);
    assert.throws(
      () => resolve({ strategy: "tolt" }),
      /strategy must be one of least, hashed, external, or an object; got tolt/,
    );
  });

  it("a class outweighs the settings of its process, which outweigh the defaults", () => {
    const settings = { rebalanceThreshold: 3, bufferSize: 50, retryMs: 200, startMs: 2_000, minHosts: 4 };
    const resolved = (options: ShardedOptions) => {
      const { rule, bufferSize, retryMs } = resolveSharded(sharded(options), "Cart.options.placement", settings);
      const { strategy, minHosts, startMs } = rule;
      return [strategy.kind === "least" && strategy.threshold, bufferSize, retryMs, startMs, minHosts];
    };
    assert.deepEqual(resolved({}), [3, 50, 200, 2_000, 4]);
    const own = { rebalanceThreshold: 7, bufferSize: 9, retryInterval: "5s", startTimeout: "1m", minHosts: 2 } as const;
    assert.deepEqual(resolved(own), [7, 9, 5_000, 60_000, 2]);
    const { bufferSize, retryMs } = resolve();
    assert.deepEqual([bufferSize, retryMs], [10_000, 1_000]);
  });

  it("the application may provide a custom strategy, and the leader only learns that there is one", () => {
    const own = { home: () => "a", moves: () => [] };
    const resolved = resolve({ strategy: own });
    assert.deepEqual(resolved.rule.strategy, { kind: "custom" });
    assert.equal(resolved.strategy, own);
    class Balanced {
      home() {
        return "a";
      }
    }
    assert.deepEqual(resolve({ strategy: new Balanced() }).rule.strategy, { kind: "custom" });
  });

  it("an invalid option is rejected with advice", () => {
    const wrong: [options: object, message: RegExp][] = [
      [{ strategy: "leest" }, /strategy must be one of least, .*; got leest.*"least"/],
      [{ strategy: null }, /strategy/],
      [{ strategy: {} }, /strategy must have a method home\(shard, hosts, asker\)/],
      [{ strategy: { home: "a" } }, /method home/],
      [{ strategy: { home: () => "a", moves: [] } }, /moves must be a method moves\(hosts, moving\)/],
      [{ strategy: () => "a" }, /strategy must be one of least, .*, or an object/],
      [{ relativeLimit: 2 }, /relativeLimit must be a share/],
      [{ absoluteLimit: 0 }, /absoluteLimit must be a whole number/],
      [{ shards: 0 }, /shards must be a whole number from 1 to 100000/],
      [{ rebalance: "0s" }, /rebalance must be longer than 0/],
      [{ shards: "10" }, /100000; got "10"$/],
      [{ relativeLimit: "0.5" }, /relativeLimit must be a share from 0 to 1; got "0\.5"/],
      [{ strategy: "hashed", absoluteLimit: 3 }, /absoluteLimit applies to the strategy "least" only/],
      [{ strategy: { home: () => "a" }, relativeLimit: 0.5 }, /relativeLimit applies to the strategy "least" only/],
      [{ strategy: "external", rebalanceThreshold: 2 }, /rebalanceThreshold applies to the strategy "least" only/],
      [{ rebalanceThreshold: 0 }, /rebalanceThreshold must be a whole number from 1 to/],
      [{ bufferSize: 0.5 }, /bufferSize must be a whole number from 1 to 10000000; got 0.5/],
      [{ retryInterval: 0 }, /retryInterval must be longer than 0/],
      [{ startTimeout: "soon" }, /startTimeout: "soon" is not a duration/],
      [{ minHosts: 0 }, /minHosts must be a whole number from 1 to 10000; got 0/],
      [{ version: "2" }, /version applies to shardOf only; set shardOf as well/],
      [{ shardOf: (id: string) => id }, /version must name the version of shardOf and change with it/],
      [{ shardOf: (id: string) => id, version: "1\0" }, /version must be a text of .*; got "1\\u0000"/],
      [{ shardOf: (id: string) => id, version: "\ud800" }, /version must be a text of/],
      [{ shardOf: (id: string) => id, version: "1".repeat(1_000) }, /version must be a text of at most \d+ bytes/],
      [{ role: 5 }, /role must be a string, not number/],
      [{ role: "" }, /role must not be empty/],
      [{ role: "backend,reports" }, /role must be one name, without commas .*; got "backend,reports"/],
      [{ role: " backend" }, /role must be one name/],
      [{ stratgy: "least" }, /no option "stratgy".*strategy/],
    ];
    for (const [options, message] of wrong) {
      assert.throws(() => resolve(options), { code: "OPTION_INVALID", message }, JSON.stringify(options));
    }
  });
});
