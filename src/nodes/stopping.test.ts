// A process stops while things are not as they should be.
import assert from "node:assert/strict";
import { it } from "node:test";
import { eventually, LEASES, settled, Tally, TestApps } from "./cluster-kit.test.ts";

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

it("hosts that stop one right after the other, the leader first, leave nothing that others have to wait for", async () => {
  await using apps = new TestApps();
  const cluster = { ...LEASES, lease: "30s", failover: "lease" } as const;
  const [leader, second, last] = [
    await apps.open([Tally], { cluster }),
    await apps.open([Tally], { cluster }),
    await apps.open([Tally], { cluster }),
  ];
  await settled(last, 3);
  const ids = Array.from({ length: 30 }, (_, i) => `id-${i}`);
  await Promise.all(ids.map((id) => last.actor(Tally, id).add()));
  await leader.stop();
  await second.stop();
  const counts = await Promise.all(ids.map((id) => last.actor(Tally, id, { timeout: "10s" }).add()));
  assert.deepEqual(new Set(counts), new Set([2]));
});
