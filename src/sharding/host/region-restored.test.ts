// Homes of shards after the store was restored from an earlier point: the shards that a host reports, and its
// reaction when the leader has another home for one of them. With a leader that a test plays.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { atHome, ID, OTHER, SHARD } from "./played-leader-kit.test.ts";

describe("a host whose shards a restored store has forgotten", () => {
  it("a host names the shards whose home it is on every new stream", async () => {
    const it = await atHome();
    await it.cut();
    it.welcome(2);
    const asks = it.sent.filter((message) => message.kind === "getShardHomes");
    assert.deepEqual(asks.at(-1), { kind: "getShardHomes", type: "Guard", shards: [SHARD], held: [SHARD] });
  });

  it("a host lets go of the actors of a shard for which the leader has another home", async () => {
    const it = await atHome();
    await it.cut();
    it.welcome(2);
    it.table(it.me, OTHER);
    assert.deepEqual(it.running, [ID]);
    await it.lives(OTHER);
    await it.clock.advance(1_000);
    assert.deepEqual(it.running, []);
    assert.equal(it.placement.shards.holdsAny(["Guard"]), false);
  });
});
