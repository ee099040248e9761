// Hosts with different types of actors, and one with none: through any host, a call reaches a host that has
// the type.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { TestCluster } from "../support/cluster.ts";
import { type Grounds, groundsFor } from "../support/cluster-places.ts";

for (const { store, open } of groundsFor("SQLite")) {
  describe(`a cluster on ${store} whose hosts differ`, { timeout: 600_000 }, () => {
    let grounds: Grounds;
    before(async () => {
      grounds = await open();
    });
    after(() => grounds?.[Symbol.asyncDispose]());

    test("calls reach the hosts of their type from every host, and fail with a clear error when there are none", async (t) => {
      await using place = await grounds.place();
      await using cluster = new TestCluster(t, place);
      const { load } = cluster;
      const tallies = await cluster.start("tallies", { types: ["Tally"] });
      const [others, nothing] = await Promise.all([
        cluster.start("others", { types: ["Other"] }),
        cluster.start("nothing", { types: [] }),
      ]);
      const all = [tallies, others, nothing];
      for (const host of all) {
        assert.equal(await host.call("Other", "x", "whoAmI"), others.pid);
        assert.equal((await host.where(["Tally", "x"])).owner, await tallies.address());
      }
      assert.equal(await nothing.call("Other", "x", "addTo", ["chained", "by other"]), 1);
      assert.equal((await tallies.report("chained")).n, 1);
      load.through(...all);
      await load.more(200);

      for (const host of all) {
        for (const type of ["Strict", "NeverHeardOf"]) {
          await assert.rejects(host.call(type, "x", "anything"), { code: "NO_HOST", retry: "later" });
        }
      }
      await assert.rejects(nothing.call("Other", "x", "noSuchMethod"), { code: "METHOD_UNKNOWN" });

      // The type is removed with its only host, and back with another one. The others never stop.
      await others.leave();
      await load.until(async () => {
        const code = await nothing.call("Other", "x", "whoAmI").catch((error: { code: string }) => error.code);
        return code === "NO_HOST";
      }, "nobody hosts it any more");
      const both = await cluster.start("both", { types: ["Tally", "Other"] });
      load.through(both);
      for (const host of [tallies, nothing, both]) assert.equal(await host.call("Other", "x", "whoAmI"), both.pid);
      await cluster.settled(2);
      await load.more(200);
      cluster.expectOnly();
      await cluster.audit();
    });

    test("a drained host keeps forwarding calls, and no call fails", async (t) => {
      await using place = await grounds.place();
      await using cluster = new TestCluster(t, place);
      const [one, two] = await cluster.startAll(["one", "two"]);
      await cluster.settled(2);
      cluster.load.through(one!, two!);
      await cluster.load.more(100);
      await two!.drain("one");
      await cluster.settled(1);
      await cluster.load.more(200);
      for (let i = 0; i < 20; i++) {
        assert.equal((await one!.where(["Tally", `actor ${i}`])).owner, await two!.address());
      }
      cluster.expectOnly();
      await cluster.audit();
    });
  });
}
