// A host of sticky actors stops for longer than its lease, as on a suspended machine. They are taken over
// meanwhile. When it continues it must not serve, let alone commit, anything with its old state; it drops
// them and rejoins.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Grounds, groundsFor } from "../support/cluster-places.ts";
import { livingAt, StickyCluster, someIds } from "./sticky-cluster.ts";

/** Errors of a turn during the pause: its lease has ended, or another host has taken its actor. */
const CUT_SHORT = ["LEASE_LOST", "FENCED", "COMMIT_UNKNOWN", "ANSWER_LOST"];

for (const { store, open } of groundsFor("SQLite")) {
  describe(`sticky actors on ${store} whose host stands still`, { timeout: 600_000 }, () => {
    let grounds: Grounds;
    before(async () => {
      grounds = await open();
    });
    after(() => grounds?.[Symbol.asyncDispose]());

    for (const who of ["a host", "the leader"]) {
      test(`${who} that slept through its lease has lost them for good, commits nothing, and comes back`, async (t) => {
        await using place = await grounds.place();
        await using cluster = new StickyCluster(t, place);
        const hosts = await cluster.startAll(["one", "two", "three"]);
        await cluster.settled(3);
        const leader = await cluster.leader();
        const sleeper = who === "a host" ? hosts.find((host) => host !== leader)! : leader;
        const others = hosts.filter((host) => host !== sleeper);
        const names = others.map(({ name }) => name);
        const homes = await cluster.fill(someIds("actor", 60), hosts);
        const lost = cluster.callers(livingAt(homes, sleeper.name)).through(...hosts);
        const kept = cluster.callers(livingAt(homes, ...names)).through(...others);
        await Promise.all([lost.more(100), kept.more(100)]);

        let taken: ReadonlyMap<string, string> = new Map();
        let known: number[] = [];
        let reads: Promise<{ n: number }>[] = [];
        await cluster.paused(sleeper, async () => {
          await cluster.settled(2, others[0]);
          const outcomes = await Promise.all(lost.ids.map((id) => lost.ledger.add(others[0]!, id)));
          assert.deepEqual(new Set(outcomes), new Set(["acked"]));
          taken = await cluster.homes(lost.ids, others[0]);
          known = await Promise.all(lost.ids.map(async (id) => (await others[0]!.report(id)).n));
          // They wait at the process and are the first messages it gets.
          reads = lost.ids.map((id) => sleeper.report(id));
          void Promise.allSettled(reads);
        });
        assert.deepEqual(
          [...taken.values()].filter((name) => !names.includes(name)),
          [],
        );
        for (const [i, { n }] of (await Promise.all(reads)).entries()) {
          assert.ok(n >= known[i]!, `${lost.ids[i]} was ${known[i]} before it was asked, and it said ${n}`);
        }
        await cluster.settled(3);
        await Promise.all([lost.more(200), kept.more(100)]);
        // It has rejoined, and has none of its earlier actors.
        assert.deepEqual(await cluster.homes(lost.ids), taken);
        assert.deepEqual(await cluster.homes(kept.ids), new Map(kept.ids.map((id) => [id, homes.get(id)])));
        const fresh = await cluster.fill(someIds("fresh", 60), hosts);
        assert.ok(livingAt(fresh, sleeper.name).length > 0, "it gets new ones");
        assert.ok((await sleeper.metric("limpet_host_sticky_cleared_total")) >= lost.ids.length);
        // There is one leader, and it counts them.
        const counted = await Promise.all(hosts.map((host) => host.metric("limpet_scheduler_sticky_actors")));
        assert.equal(
          counted.reduce((sum, count) => sum + count, 0),
          homes.size + fresh.size,
        );
        kept.expectOnly();
        lost.expectOnly(...CUT_SHORT);
        const lives = await cluster.lives();
        for (const id of kept.ids) assert.deepEqual(lives.get(id), [homes.get(id)], `${id} has lived once`);
        for (const id of lost.ids) assert.deepEqual(lives.get(id), [sleeper.name, taken.get(id)]);
        await cluster.audit();
      });
    }
  });
}
