// Every host of a cluster is replaced, one after the other, under load on sharded actors. No caller gets an
// error.
import { after, before, describe, test } from "node:test";
import { TestCluster } from "../support/cluster.ts";
import { type Grounds, groundsFor } from "../support/cluster-places.ts";

const SHARDED = { types: ["ShardedTally"] } as const;

for (const { store, open } of groundsFor("PostgreSQL")) {
  describe(`sharded actors on ${store}`, { timeout: 600_000 }, () => {
    let grounds: Grounds;
    before(async () => {
      grounds = await open();
    });
    after(() => grounds?.[Symbol.asyncDispose]());

    test("no call fails while five hosts are restarted one by one under load", async (t) => {
      await using place = await grounds.place();
      // A machine that runs all of them, and the test, and the database, may be late.
      await using cluster = new TestCluster(t, place, { lease: "8s", leaderLease: "3s", roundTimeout: "6s" });
      const hosts = await cluster.startAll(["one", "two", "three", "four", "five"], SHARDED);
      const caller = await cluster.start("caller", { types: [] });
      await cluster.settled(5);
      cluster.load.through(caller, ...hosts);
      await cluster.load.more(200);
      for (const host of hosts) {
        await cluster.load.release(host);
        await host.leave();
        await cluster.load.more(60);
        cluster.load.through(await cluster.start(`${host.name} again`, SHARDED));
        await cluster.load.more(60);
      }
      await cluster.settled(5);
      cluster.expectOnly();
      await cluster.audit();
    });
  });
}
