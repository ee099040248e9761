// kill -9 of a host under load, and of the leader. Calls that were there may or may not have happened, and
// their callers get this outcome; all other calls succeed.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { TestCluster } from "../support/cluster.ts";
import { type Grounds, groundsFor } from "../support/cluster-places.ts";

/** Errors that callers may get when a process dies: it was their own, or had their call. */
const LOST = ["DIED", "ANSWER_LOST"];

for (const { store, open } of groundsFor("PostgreSQL")) {
  describe(`a cluster on ${store} in which processes are killed`, { timeout: 600_000 }, () => {
    let grounds: Grounds;
    before(async () => {
      grounds = await open();
    });
    after(() => grounds?.[Symbol.asyncDispose]());

    test("an ended process is replaced without waiting, host or leader, and can start again at once", async (t) => {
      await using place = await grounds.place();
      // A lease that is far longer than the test.
      await using cluster = new TestCluster(t, place, { lease: "5m" });
      const hosts = await cluster.startAll(["one", "two", "three"]);
      await cluster.settled(3);
      cluster.load.through(...hosts);
      await cluster.load.more(200);

      const leader = await cluster.leader();
      const victim = hosts.find((host) => host !== leader)!;
      const port = Number((await victim.address()).split(":")[1]);
      await victim.kill();
      cluster.load.through(await cluster.start(`${victim.name} again`, { cluster: { port } }));
      await cluster.settled(3);
      await cluster.load.more(200);

      await leader.kill();
      await cluster.settled(2);
      await cluster.load.more(200);
      cluster.expectOnly(...LOST);
      await cluster.audit();
    });

    test("without process monitoring, a host is replaced after its lease and a leader after its own", async (t) => {
      await using place = await grounds.place();
      await using cluster = new TestCluster(t, place, { failover: "lease" });
      const hosts = await cluster.startAll(["one", "two", "three"]);
      await cluster.settled(3);
      cluster.load.through(...hosts);
      await cluster.load.more(200);

      const leader = await cluster.leader();
      const [victim, survivor] = hosts.filter((host) => host !== leader);
      await victim!.kill();
      await cluster.settled(2);
      await cluster.load.more(200);

      const lost = await survivor!.metric("limpet_host_leases_lost_total");
      await leader.kill();
      await cluster.settled(1);
      await cluster.load.more(200);
      const lostMeanwhile = (await survivor!.metric("limpet_host_leases_lost_total")) - lost;
      assert.equal(lostMeanwhile, 0, "another leader was there before the lease of a host was over");
      cluster.expectOnly(...LOST);
      await cluster.audit();
    });
  });
}
