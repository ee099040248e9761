// A process stops while things are not as they should be.
import assert from "node:assert/strict";
import { it } from "node:test";
import { eventually, Tally, TestApps } from "./cluster-kit.test.ts";

it("a call that waits for a lease ends when its process stops", async () => {
  await using apps = new TestApps();
  const leases = { lease: "1s", leaderLease: "300ms", roundTimeout: "900ms", moveTimeout: "500ms" } as const;
  const scheduler = await apps.open([], { cluster: leases }, { dedicated: true });
  const { address } = scheduler.host.status().scheduler!;
  const app = await apps.open([Tally], { cluster: leases, schedulers: [address!], drainTimeout: "100ms" });
  assert.equal(await app.actor(Tally, "a").add(), 1);
  await scheduler.stop();
  await eventually(async () => app.host.types()[0]!.active === 0, "its lease is over");
  const call = app.actor(Tally, "a").add();
  await Promise.all([assert.rejects(call, { code: "STOPPING" }), app.stop()]);
});
