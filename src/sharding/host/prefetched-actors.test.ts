import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Taken } from "../../ports/store/store.ts";
import { VirtualClock } from "../../world/virtual-clock.ts";
import { PrefetchedActors } from "./prefetched-actors.ts";

/** Requests to the store, and its answers. */
function setting() {
  const clock = new VirtualClock();
  const taken: string[] = [];
  const take = async (type: string, id: string): Promise<Taken> => {
    taken.push(`${type}/${id}`);
    return { ref: taken.length, epoch: 1, version: 0, state: undefined };
  };
  return { clock, taken, prefetched: new PrefetchedActors({ clock, take }) };
}

describe("prefetched actors", () => {
  it("prefetched actors are taken at once, and can be claimed once each, when their shard is here by that move", async () => {
    const { taken, prefetched } = setting();
    prefetched.begin("Cart", 3, "1.7", ["a", "b"]);
    assert.deepEqual(taken, ["Cart/a", "Cart/b"]);
    assert.equal(prefetched.claim("Cart", "a"), undefined, "the shard is not here yet");
    assert.deepEqual([...prefetched.open("Cart", 3, "1.7")], ["a", "b"]);
    assert.equal(prefetched.claim("Order", "a"), undefined);
    assert.equal((await prefetched.claim("Cart", "b"))?.ref, 2);
    assert.equal(prefetched.claim("Cart", "b"), undefined);
  });

  it("prefetched actors are void when the shard comes by another move, or by none", () => {
    const { prefetched } = setting();
    for (const move of ["1.8", "2.7", undefined]) {
      prefetched.begin("Cart", 3, "1.7", ["a"]);
      assert.deepEqual([...prefetched.open("Cart", 3, move)], []);
      assert.deepEqual([...prefetched.open("Cart", 3, "1.7")], [], "nor later");
      assert.equal(prefetched.claim("Cart", "a"), undefined);
    }
  });

  it("prefetched actors can be claimed in that moment only, because another home may follow", async () => {
    const { clock, prefetched } = setting();
    prefetched.begin("Cart", 3, "1.7", ["a"]);
    prefetched.begin("Cart", 4, "1.8", ["b"]);
    prefetched.open("Cart", 3, "1.7");
    prefetched.open("Cart", 4, "1.8");
    assert.notEqual(prefetched.claim("Cart", "a"), undefined);
    await clock.advance(1);
    assert.equal(prefetched.claim("Cart", "b"), undefined);
  });

  it("prefetched actors are forgotten when the shard does not come", async () => {
    const { clock, prefetched } = setting();
    prefetched.begin("Cart", 3, "1.7", ["a"]);
    await clock.advance(5_001);
    assert.deepEqual([...prefetched.open("Cart", 3, "1.7")], []);
  });

  it("prefetched actors are limited in number, until earlier ones are here or forgotten", () => {
    const { taken, prefetched } = setting();
    const ids = Array.from({ length: 1_500 }, (_, i) => `id-${i}`);
    prefetched.begin("Cart", 3, "1.7", ids);
    prefetched.begin("Cart", 4, "1.8", ids);
    assert.equal(taken.length, 2_000);
    prefetched.begin("Cart", 5, "1.9", ids);
    assert.equal(taken.length, 2_000);
    prefetched.open("Cart", 3, "1.7");
    prefetched.begin("Cart", 5, "1.9", ids);
    assert.equal(taken.length, 3_500);
  });
});
