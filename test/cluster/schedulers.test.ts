// Hosts with configured schedulers. One of the schedulers stops, all of them die, and they start again: an
// outage within the lease has no effect, and after a longer one everything recovers by itself.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { TestCluster } from "../support/cluster.ts";
import { type Grounds, groundsFor } from "../support/cluster-places.ts";
import type { ClusterProcess } from "../support/cluster-process.ts";
import { freePort } from "../support/free-port.ts";

for (const { store, open } of groundsFor("SQLite")) {
  describe(`a cluster on ${store} with dedicated schedulers`, { timeout: 600_000 }, () => {
    let grounds: Grounds;
    before(async () => {
      grounds = await open();
    });
    after(() => grounds?.[Symbol.asyncDispose]());

    test("a cluster continues without a failed call when the leader stops, and when all schedulers are killed for a while", async (t) => {
      await using place = await grounds.place();
      // Much longer than the start of a process, also on a busy machine.
      await using cluster = new TestCluster(t, place, { lease: "1m" });
      const ports = [await freePort(), await freePort()];
      const schedulers = ports.map((port) => `127.0.0.1:${port}`);
      const pair = await Promise.all(ports.map((port, i) => startScheduler(cluster, `scheduler ${i}`, port)));
      const hosts = await cluster.startAll(["one", "two"], { schedulers });
      await cluster.settled(2);
      cluster.load.through(...hosts);
      await cluster.load.more(100);

      const leader = await cluster.leader();
      await leader.leave();
      const follower = pair.find((one) => one !== leader)!;
      assert.equal(await cluster.leader(), follower);
      // The new leader can do all that the previous one could.
      const three = await cluster.start("three", { schedulers });
      cluster.load.through(three);
      await cluster.settled(3);
      await cluster.load.more(100);

      await follower.kill();
      await cluster.load.more(100);
      await Promise.all(ports.map((port, i) => startScheduler(cluster, `scheduler ${i} again`, port)));
      await cluster.settled(3);
      await cluster.load.more(100);
      assert.equal(await leasesLost([...hosts, three]), 0);
      cluster.expectOnly();
      await cluster.audit();
    });

    test("a cluster recovers by itself after an outage of its schedulers that is longer than the lease", async (t) => {
      await using place = await grounds.place();
      await using cluster = new TestCluster(t, place);
      const port = await freePort();
      const scheduler = await startScheduler(cluster, "scheduler", port);
      const hosts = await cluster.startAll(["one", "two"], { schedulers: [`127.0.0.1:${port}`] });
      await cluster.settled(2);
      cluster.load.through(...hosts);
      await cluster.load.more(100);

      const before = await leasesLost(hosts);
      await scheduler.kill();
      await cluster.load.until(async () => (await leasesLost(hosts)) >= before + 2, "every host has lost its lease");
      await startScheduler(cluster, "scheduler again", port);
      await cluster.settled(2);
      await cluster.load.more(100);
      // Calls of this time have waited.
      cluster.expectOnly("LEASE_LOST");
      await cluster.audit();
    });
  });
}

function startScheduler(cluster: TestCluster, name: string, schedulerPort: number): Promise<ClusterProcess> {
  return cluster.start(name, { dedicated: true, types: [], cluster: { schedulerPort } });
}

async function leasesLost(hosts: readonly ClusterProcess[]): Promise<number> {
  const lost = await Promise.all(hosts.map((host) => host.metric("limpet_host_leases_lost_total")));
  return lost.reduce((sum, one) => sum + one, 0);
}
