// The cable between a host and the leader is cut, in one direction or in both, while the hosts reach each
// other. The host releases its actors in time, and others serve them. When the cable is mended, with all held
// bytes, the host rejoins.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { TestCluster } from "../support/cluster.ts";
import { ACTORS } from "../support/cluster-load.ts";
import { type Grounds, groundsFor } from "../support/cluster-places.ts";
import { Detour, type Direction } from "../support/detour.ts";
import { freePort } from "../support/free-port.ts";

const CUTS: readonly { readonly title: string; readonly directions: readonly Direction[] }[] = [
  { title: "that the leader cannot hear", directions: ["there"] },
  { title: "that cannot hear the leader", directions: ["back"] },
  { title: "that is cut off from the leader but not from other hosts", directions: ["there", "back"] },
];

for (const { store, open } of groundsFor("SQLite")) {
  describe(`a cluster on ${store} with a cut cable`, { timeout: 600_000 }, () => {
    let grounds: Grounds;
    before(async () => {
      grounds = await open();
    });
    after(() => grounds?.[Symbol.asyncDispose]());

    for (const { title, directions } of CUTS) {
      test(`a host ${title} lets go in time, and comes back when it can`, async (t) => {
        await using place = await grounds.place();
        const schedulerPort = await freePort();
        await using cable = await Detour.to(schedulerPort);
        await using cluster = new TestCluster(t, place);
        const { load } = cluster;
        const scheduler = await cluster.start("scheduler", { dedicated: true, types: [], cluster: { schedulerPort } });
        const [near, far] = await Promise.all([
          cluster.start("near"),
          cluster.start("far", { detours: { [schedulerPort]: cable.port } }),
        ]);
        await cluster.settled(2);
        assert.equal(await cluster.leader(), scheduler);
        load.through(near, far);
        await load.more(200);
        const lost = await far.metric("limpet_host_leases_lost_total");

        cable.interrupt(...directions);
        await load.until(async () => (await far.metric("limpet_host_leases_lost_total")) > lost, "its lease is over");
        // Calls through the isolated host find no owner, so callers there wait. All others get answers, also
        // for calls that were there when it lost its lease.
        await load.until(near.caughtUp(), "who called an actor of the host that is cut off is answered");
        for (let i = 0; i < ACTORS; i++) assert.equal(await load.ledger.add(near, `actor ${i}`), "acked");

        cable.restore();
        await cluster.settled(2);
        await load.until(async () => (await far.status()).ready, "the host is back");
        await load.more(200);
        cluster.expectOnly("LEASE_LOST");
        await cluster.audit();
      });
    }
  });
}
