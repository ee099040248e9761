// Hosts join and leave under load. No caller gets an error because of it.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { TestCluster } from "../support/cluster.ts";
import { type Grounds, groundsFor } from "../support/cluster-places.ts";

for (const { store, open } of groundsFor("PostgreSQL")) {
  describe(`a cluster on ${store}`, { timeout: 600_000 }, () => {
    let grounds: Grounds;
    before(async () => {
      grounds = await open();
    });
    after(() => grounds?.[Symbol.asyncDispose]());

    test("hosts that join under load get their share, and no call fails", async (t) => {
      await using place = await grounds.place();
      await using cluster = new TestCluster(t, place);
      const one = await cluster.start("one");
      cluster.load.through(one);
      await cluster.load.more(100);
      cluster.load.through(await cluster.start("two"));
      cluster.load.through(...(await cluster.startAll(["three", "four"])));
      await cluster.settled(4);
      await cluster.load.more(500);
      const turns = await Promise.all(cluster.alive.map((host) => host.metric("limpet_turns_total")));
      assert.ok(
        turns.every((count) => count > 0),
        `everybody does something: ${turns}`,
      );
      cluster.expectOnly();
      await cluster.audit();
    });

    test("a host that stops in an orderly way causes no failed call", async (t) => {
      await using place = await grounds.place();
      await using cluster = new TestCluster(t, place);
      const hosts = await cluster.startAll(["one", "two", "three"]);
      await cluster.settled(3);
      cluster.load.through(...hosts);
      await cluster.load.more(200);
      const leader = await cluster.leader();
      const [first, second] = hosts.filter((host) => host !== leader);
      await first!.leave();
      await cluster.load.more(200);
      await leader.leave();
      await cluster.load.more(200);
      cluster.load.through(await cluster.start("four"));
      await second!.leave();
      await cluster.load.more(200);
      cluster.expectOnly();
      await cluster.audit();
    });

    test("a process that stops waits for the answers of calls that it has forwarded", async (t) => {
      await using place = await grounds.place();
      await using cluster = new TestCluster(t, place);
      await cluster.start("host");
      const caller = await cluster.start("caller", { types: [] });
      const { ledger } = cluster.load;
      // They run one after another, and nothing else keeps the process from stopping.
      const calls = Array.from({ length: 20 }, () => ledger.add(caller, "a", "addSlowly"));
      await cluster.load.until(() => ledger.acked > 0, "the first answer");
      await caller.leave();
      assert.deepEqual(new Set(await Promise.all(calls)), new Set(["acked"]));
      cluster.expectOnly();
      await cluster.audit();
    });
  });
}
