// kill -9 of a host of sticky actors, and of the leader, under load. No call to an actor on a living host
// fails. The actors of the dead host become active elsewhere, with everything they acknowledged, and no actor
// is ever active twice.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Grounds, groundsFor } from "../support/cluster-places.ts";
import { livingAt, StickyCluster, someIds } from "./sticky-cluster.ts";

/** Errors that callers of actors of the dead host may get: its process was theirs, or had their call. */
const LOST = ["DIED", "ANSWER_LOST"];

const CASES = [
  { title: "the leader is killed", leads: true, cluster: { failover: "auto", lease: "20s" } },
  { title: "a host is killed that does not lead", leads: false, cluster: { failover: "auto", lease: "20s" } },
  { title: "the leader is killed, and nobody looks at processes", leads: true, cluster: { failover: "lease" } },
  { title: "a host is killed, and nobody looks at processes", leads: false, cluster: { failover: "lease" } },
] as const;

for (const { store, open } of groundsFor("PostgreSQL")) {
  describe(`sticky actors on ${store} when processes die`, { timeout: 600_000 }, () => {
    let grounds: Grounds;
    before(async () => {
      grounds = await open();
    });
    after(() => grounds?.[Symbol.asyncDispose]());

    for (const { title, leads, cluster: settings } of CASES) {
      test(`actors of other hosts are not affected when ${title}, and its own become active elsewhere`, async (t) => {
        await using place = await grounds.place();
        await using cluster = new StickyCluster(t, place, settings);
        const early = await cluster.startAll(["one", "two"]);
        await cluster.settled(2);
        const cold = cluster.callers(someIds("cold", 90));
        await cluster.fill([...cold.ids, ...someIds("early", 45)], early);
        // From here on the ring assigns many of them to the third host, which does not have them.
        const three = await cluster.start("three");
        await cluster.settled(3);
        const hosts = [...early, three];
        const leader = await cluster.leader();
        const victim = leads ? leader : [three, ...early].find((host) => host !== leader)!;
        const survivors = hosts.filter((host) => host !== victim);
        const ids = [...someIds("early", 45), ...someIds("late", 45)];
        // All hosts know the location of each of these; the third host knows none of the others.
        for (const host of hosts) await cluster.fill(ids, [host]);
        const homes = await cluster.homes(ids);
        const coldHomes = await cluster.homes(cold.ids);
        const lost = cluster.callers(livingAt(homes, victim.name)).through(...hosts);
        const kept = cluster.callers(livingAt(homes, ...survivors.map(({ name }) => name))).through(...survivors);
        await Promise.all([lost.more(60), kept.more(120)]);

        await victim.kill();
        // Every request of an actor, active or not, waits for the reports of all hosts.
        const calls = Promise.all(cold.ids.map((id) => cold.ledger.add(survivors.at(-1)!, id)));
        const fresh = cluster.callers(someIds("fresh", 90)).through(...survivors);
        await Promise.all([calls, kept.more(300), fresh.more(100), lost.more(100)]);
        await cluster.settled(2);
        // All actors of the dead host are active again, all others are where they were.
        const now = await cluster.fill([...homes.keys()], survivors);
        for (const id of kept.ids) assert.equal(now.get(id), homes.get(id), `${id} has moved`);
        for (const id of lost.ids) assert.ok(survivors.some(({ name }) => name === now.get(id)));
        kept.expectOnly();
        // A host that has not detected the death yet may call it.
        for (const callers of [cold, fresh, lost]) callers.expectOnly(...LOST);
        const lives = await cluster.lives();
        for (const id of kept.ids) assert.deepEqual(lives.get(id), [homes.get(id)], `${id} has lived once`);
        for (const id of lost.ids) assert.deepEqual(lives.get(id), [victim.name, now.get(id)]);
        for (const [id, home] of coldHomes) {
          if (home !== victim.name) assert.deepEqual(lives.get(id), [home], `${id} has lived once`);
          else assert.ok(lives.get(id)!.length <= 2, `${id} lived in ${lives.get(id)}`);
        }
        for (const id of fresh.ids) assert.ok((lives.get(id)?.length ?? 0) <= 1, `${id} has lived once at most`);
        await cluster.audit();
      });
    }
  });
}
