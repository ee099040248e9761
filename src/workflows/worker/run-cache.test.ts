import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { LoadedRun } from "./loaded-run.ts";
import { RunCache } from "./run-cache.ts";

const run = (ref: number, bytes = 100): LoadedRun => ({ ref, bytes }) as LoadedRun;
const refs = (cache: RunCache, upTo: number): number[] =>
  Array.from({ length: upTo }, (_, i) => i + 1).filter((ref) => cache.peek(ref) !== undefined);

describe("cache of runs", () => {
  it("the cache holds at most its capacity, and evicts the least recently used runs first", () => {
    const cache = new RunCache(3, 1_000_000);
    for (const ref of [1, 2, 3]) cache.put(run(ref));
    cache.put(cache.take(1)!);
    cache.put(run(4));
    assert.deepEqual(refs(cache, 4), [1, 3, 4]);
    assert.deepEqual([cache.numbers.size, cache.numbers.bytes, cache.numbers.evictions], [3, 300, 1]);
  });

  it("the cache holds at most its bytes, however few runs that is", () => {
    const cache = new RunCache(1_000, 1_000);
    for (const ref of [1, 2, 3]) cache.put(run(ref, 300));
    cache.put(run(4, 500));
    assert.deepEqual(refs(cache, 4), [3, 4]);
    assert.equal(cache.numbers.bytes, 800);
    cache.put(run(5, 1_001));
    assert.deepEqual([refs(cache, 5), cache.numbers.bytes], [[], 0], "what does not fit alone is not kept");
  });

  it("a run that is taken belongs to the caller and is gone for others", () => {
    const cache = new RunCache(2, 1_000);
    cache.put(run(1));
    assert.equal(cache.take(1)?.ref, 1);
    assert.deepEqual([cache.take(1), cache.numbers.bytes, cache.numbers.evictions], [undefined, 0, 0]);
  });

  it("a cache with a capacity of zero holds no runs", () => {
    const cache = new RunCache(0, 1_000);
    cache.put(run(1));
    assert.deepEqual([cache.isOn, cache.numbers.size], [false, 0]);
  });

  it("a run is replaced by another run that a restored store gave the same ref", () => {
    const cache = new RunCache(2, 1_000);
    cache.put(run(1, 100));
    const other = run(1, 300);
    cache.put(other);
    assert.deepEqual([cache.numbers.size, cache.numbers.bytes], [1, 300]);
    assert.equal(cache.take(1), other);
  });
});
