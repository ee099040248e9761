import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Taken } from "../../ports/store/store.ts";
import { VirtualClock } from "../../world/virtual-clock.ts";
import { PrefetchedActors } from "./prefetched-actors.ts";

/** Requests to the store, and its answers. */
function setting() {
  const clock = new VirtualClock();
  const asked: string[] = [];
  const take = async (type: string, id: string): Promise<Taken> => {
    asked.push(`${type}/${id}`);
    return { ref: asked.length, epoch: 1, version: 0, state: undefined };
  };
  return { clock, asked, ahead: new PrefetchedActors({ clock, take }) };
}

describe("prefetched actors", () => {
  it("prefetched actors are taken at once, and can be claimed once each, when their shard is here by that move", async () => {
    const { asked, ahead } = setting();
    ahead.begin("Cart", 3, "1.7", ["a", "b"]);
    assert.deepEqual(asked, ["Cart/a", "Cart/b"]);
    assert.equal(ahead.claim("Cart", "a"), undefined, "the shard is not here yet");
    assert.deepEqual([...ahead.open("Cart", 3, "1.7")], ["a", "b"]);
    assert.equal(ahead.claim("Order", "a"), undefined);
    assert.equal((await ahead.claim("Cart", "b"))?.ref, 2);
    assert.equal(ahead.claim("Cart", "b"), undefined);
  });

  it("prefetched actors are void when the shard comes by another move, or by none", () => {
    const { ahead } = setting();
    for (const move of ["1.8", "2.7", undefined]) {
      ahead.begin("Cart", 3, "1.7", ["a"]);
      assert.deepEqual([...ahead.open("Cart", 3, move)], []);
      assert.deepEqual([...ahead.open("Cart", 3, "1.7")], [], "nor later");
      assert.equal(ahead.claim("Cart", "a"), undefined);
    }
  });

  it("prefetched actors can be claimed in that moment only, because another home may follow", async () => {
    const { clock, ahead } = setting();
    ahead.begin("Cart", 3, "1.7", ["a"]);
    ahead.begin("Cart", 4, "1.8", ["b"]);
    ahead.open("Cart", 3, "1.7");
    ahead.open("Cart", 4, "1.8");
    assert.notEqual(ahead.claim("Cart", "a"), undefined);
    await clock.advance(1);
    assert.equal(ahead.claim("Cart", "b"), undefined);
  });

  it("prefetched actors are forgotten when the shard does not come", async () => {
    const { clock, ahead } = setting();
    ahead.begin("Cart", 3, "1.7", ["a"]);
    await clock.advance(5_001);
    assert.deepEqual([...ahead.open("Cart", 3, "1.7")], []);
  });

  it("prefetched actors are limited in number, until earlier ones are here or forgotten", () => {
    const { asked, ahead } = setting();
    const ids = Array.from({ length: 1_500 }, (_, i) => `id-${i}`);
    ahead.begin("Cart", 3, "1.7", ids);
    ahead.begin("Cart", 4, "1.8", ids);
    assert.equal(asked.length, 2_000);
    ahead.begin("Cart", 5, "1.9", ids);
    assert.equal(asked.length, 2_000);
    ahead.open("Cart", 3, "1.7");
    ahead.begin("Cart", 5, "1.9", ids);
    assert.equal(asked.length, 3_500);
  });
});
