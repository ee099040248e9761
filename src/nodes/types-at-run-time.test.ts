// Types that come and go while a process runs, also with calls and changes under way.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Other, Tally, TestApps } from "./cluster-kit.test.ts";

describe("types that come and go", () => {
  it("are reached through handles that were made before", async () => {
    await using apps = new TestApps();
    const app = await apps.open([Tally]);
    const other = app.actor(Other, "x", { timeout: "2s" });
    await assert.rejects(other.ping(), { code: "NO_HOST" });
    await app.add(Other);
    for (let i = 0; i < 3; i++) assert.equal(await other.ping(), "pong");
    const tally = app.actor(Tally, "x", { timeout: "2s" });
    assert.equal(await tally.add(), 1);
    await app.remove(Tally);
    await app.add(Tally);
    for (let i = 2; i < 5; i++) assert.equal(await tally.add(), i);
  });
});
