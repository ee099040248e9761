// Sticky actors stay on their hosts while others come and go, under load.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Grounds, groundsFor } from "../support/cluster-places.ts";
import { livingAt, StickyCluster, someIds } from "./sticky-cluster.ts";

/** No host loses a lease here, also on a busy machine. */
const CALM = { lease: "20s" };

for (const { store, open } of groundsFor("PostgreSQL")) {
  describe(`sticky actors of a cluster on ${store}`, { timeout: 600_000 }, () => {
    let grounds: Grounds;
    before(async () => {
      grounds = await open();
    });
    after(() => grounds?.[Symbol.asyncDispose]());

    test("sticky actors keep their activation when a host joins and when it leaves again", async (t) => {
      await using place = await grounds.place();
      await using cluster = new StickyCluster(t, place, CALM);
      const three = await cluster.startAll(["one", "two", "three"]);
      await cluster.settled(3);
      const ids = someIds("actor", 60);
      const homes = await cluster.fill(ids, three);
      assert.deepEqual(new Set(homes.values()), new Set(["one", "two", "three"]));
      const callers = cluster.callers(ids).through(...three);
      await callers.more(100);

      const four = await cluster.start("four");
      await cluster.settled(4);
      await callers.more(200);
      assert.deepEqual(await cluster.homes(ids), homes);
      // New actors may go to the new host, and move elsewhere when it leaves.
      const guests = someIds("guest", 60);
      const there = livingAt(await cluster.fill(guests, [...three, four]), "four");
      assert.ok(there.length > 0, "the new host has got some of the new actors");
      const others = cluster.callers(guests).through(...three);
      await others.more(100);

      await four.leave();
      await cluster.settled(3);
      await Promise.all([callers.more(200), others.more(200)]);
      assert.deepEqual(await cluster.homes(ids), homes);
      callers.expectOnly();
      others.expectOnly();
      const lives = await cluster.lives();
      for (const [id, home] of homes) assert.deepEqual(lives.get(id), [home], `${id} has lived once`);
      for (const id of guests) {
        const [first, ...later] = lives.get(id)!;
        assert.equal(first === "four", there.includes(id));
        assert.ok(later.length <= (there.includes(id) ? 1 : 0), `${id} lived in ${lives.get(id)}`);
      }
      await cluster.audit();
    });

    test("sticky actors leave a drained host, each for one other, and the others are not affected", async (t) => {
      await using place = await grounds.place();
      await using cluster = new StickyCluster(t, place, CALM);
      const [one, two, three] = await cluster.startAll(["one", "two", "three"]);
      await cluster.settled(3);
      const ids = someIds("actor", 60);
      const homes = await cluster.fill(ids, [one!, two!, three!]);
      const callers = cluster.callers(ids).through(one!, two!, three!);
      await callers.more(100);

      await one!.drain("two");
      await cluster.settled(2);
      await callers.more(300);
      const now = await cluster.fill(ids, [one!]);
      assert.deepEqual(livingAt(now, "two"), []);
      for (const [id, home] of homes) if (home !== "two") assert.equal(now.get(id), home);
      callers.expectOnly();
      const lives = await cluster.lives();
      for (const [id, home] of homes) {
        assert.equal(lives.get(id)!.length, home === "two" ? 2 : 1, `${id} of ${home} lived in ${lives.get(id)}`);
      }
      await cluster.audit();
    });

    test("sticky actors follow the ring after an operator has released them, and no call fails", async (t) => {
      await using place = await grounds.place();
      await using cluster = new StickyCluster(t, place, { ...CALM, leaderLease: "3s" });
      const one = await cluster.start("one");
      const two = await cluster.start("two");
      await cluster.settled(2);
      const ids = someIds("actor", 60);
      const homes = await cluster.fill(ids, [one, two]);
      const three = await cluster.start("three");
      await cluster.settled(3);
      const callers = cluster.callers(ids).through(one, two, three);
      await callers.more(100);
      await cluster.release(ids);
      await callers.more(300);
      const now = await cluster.fill(ids, [one]);
      assert.ok(livingAt(now, "three").length > 0, "the new host has got its share");
      const ring = await Promise.all(ids.map(async (id) => (await one.where(["Tally", id])).sticky?.ringName));
      assert.deepEqual([...now.values()], ring);
      callers.expectOnly();
      const lives = await cluster.lives();
      for (const [id, home] of homes) assert.deepEqual(lives.get(id), [home, now.get(id)], `${id} lived twice in all`);
      await cluster.audit();
    });
  });
}
