import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { testLimpet } from "limpet/testing";
import { Cart, Leaderboard, Stock } from "./app.ts";

const open = () => testLimpet({ actors: [Cart, Stock, Leaderboard] });

describe("the shop", () => {
  it("the shop sells the content of a cart and ranks the customers", async () => {
    await using app = await open();
    assert.deepEqual(await app.actor(Cart, "alice").add("tea", 2), { tea: 2 });
    await app.actor(Cart, "bob").add("tea");
    assert.deepEqual(await app.actor(Cart, "bob").checkout(), { order: "bob-1", sold: { tea: 1 }, rank: 1 });
    assert.equal((await app.actor(Cart, "alice").checkout()).rank, 1);
    assert.deepEqual(await app.actor(Stock, "tea").look(), { left: 7, held: {} });
    assert.deepEqual(await app.actor(Leaderboard, "all-time").top(), [
      { customer: "alice", pieces: 2 },
      { customer: "bob", pieces: 1 },
    ]);
  });

  it("the last piece is never promised twice, and a cart without stock stays unchanged", async () => {
    await using app = await open();
    const carts = Array.from({ length: 25 }, (_, i) => app.actor(Cart, `c${i}`));
    const results = await Promise.allSettled(carts.map((cart) => cart.add("mug")));
    assert.equal(results.filter(({ status }) => status === "fulfilled").length, 10);
    for (const [i, result] of results.entries()) {
      if (result.status === "rejected") {
        assert.equal(result.reason.code, "OUT_OF_STOCK");
        assert.deepEqual(await carts[i]!.show(), {});
      }
    }
    assert.equal((await app.actor(Stock, "mug").look()).left, 0);
  });

  it("pieces that leave a cart return to the shelf", async () => {
    await using app = await open();
    await app.actor(Cart, "alice").add("tea", 4);
    await app.actor(Cart, "alice").remove("tea");
    assert.deepEqual(await app.actor(Stock, "tea").look(), { left: 10, held: {} });
    await assert.rejects(app.actor(Cart, "alice").checkout(), { name: "RangeError" });
  });
});
