// Types that are added and removed while a process runs, with calls and changes in progress.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hostsOf, Other, settled, Tally, TestApps, Third } from "./cluster-kit.test.ts";

describe("types that are added and removed at run time", () => {
  it("a type added at run time is reached through older handles", async () => {
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

  it("all types of a host may change at once", async () => {
    await using apps = new TestApps();
    const [one] = [await apps.open([Tally, Other, Third]), await apps.open([Tally, Other, Third])];
    await settled(one, 2);
    await Promise.all([one.remove(Other), one.remove(Third)]);
    assert.deepEqual(await hostsOf(one), { Tally: 2, Other: 1, Third: 1 });
    await Promise.all([one.remove(Tally), one.add(Other)]);
    await Promise.all([one.add(Third), one.remove(Third)]);
    assert.deepEqual(await hostsOf(one), { Tally: 1, Other: 2, Third: 1 });
  });

  it("a type can be removed from a lone process while calls continue", async () => {
    await using apps = new TestApps();
    const app = await apps.open([Tally, Other], { cluster: false });
    const codes = new Set<unknown>();
    const load = Array.from({ length: 20 }, async (_, i) => {
      const tally = app.actor(Tally, `id-${i}`);
      const error = await forever(() => tally.slow(1));
      codes.add((error as { code?: unknown }).code);
    });
    await app.actor(Tally, "id-0").slow(1);
    await app.remove(Tally);
    await Promise.all(load);
    assert.throws(() => app.actor<Tally>("Tally", "id-0"), { code: "ACTOR_TYPE_UNKNOWN" });
    for (const code of codes) assert.ok(code === "ACTOR_TYPE_UNKNOWN" || code === "NO_HOST", String(code));
    assert.equal(app.host.types().length, 1);
  });
});

/** Repeats the call until it fails, and returns its error. */
async function forever(call: () => Promise<unknown>): Promise<unknown> {
  for (;;) {
    try {
      await call();
    } catch (error) {
      return error;
    }
  }
}
