// A process stops for longer than its lease, as on a suspended machine, and then continues with its old
// state. Other hosts have its actors by then: it must not begin a turn with its old state, and can commit
// nothing.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { TestCluster } from "../support/cluster.ts";
import { ACTORS } from "../support/cluster-load.ts";
import { type Grounds, groundsFor } from "../support/cluster-places.ts";
import type { ClusterProcess } from "../support/cluster-process.ts";

/** Errors of a turn during the pause: its lease has ended, or another host has taken its actor. */
const CUT_SHORT = ["LEASE_LOST", "FENCED", "COMMIT_UNKNOWN", "ANSWER_LOST"];

for (const { store, open } of groundsFor("PostgreSQL")) {
  describe(`a cluster on ${store} in which a process stands still`, { timeout: 600_000 }, () => {
    let grounds: Grounds;
    before(async () => {
      grounds = await open();
    });
    after(() => grounds?.[Symbol.asyncDispose]());

    for (const who of ["a host", "the leader"]) {
      test(`${who} that slept through its lease has lost its actors, serves nothing stale, and comes back`, async (t) => {
        await using place = await grounds.place();
        await using cluster = new TestCluster(t, place);
        const hosts = await cluster.startAll(["one", "two", "three"]);
        await cluster.settled(3);
        const leader = await cluster.leader();
        const sleeper = who === "a host" ? hosts.find((host) => host !== leader)! : leader;
        const others = hosts.filter((host) => host !== sleeper);
        const before = await incarnation(sleeper);
        cluster.load.through(...hosts);
        await cluster.load.more(300);

        let reads: Promise<{ n: number }>[] = [];
        let known: number[] = [];
        await cluster.paused(sleeper, async () => {
          await cluster.load.until(async () => await owns(others, sleeper), "its actors are elsewhere");
          await Promise.all(actors().map((actor) => cluster.load.ledger.add(others[0]!, actor)));
          known = await Promise.all(actors().map(async (actor) => (await others[0]!.report(actor)).n));
          // They wait at the process and are the first messages it gets.
          reads = actors().map((actor) => sleeper.report(actor));
        });
        const seen = await Promise.all(reads);
        for (const [i, { n }] of seen.entries()) {
          assert.ok(n >= known[i]!, `${actors()[i]} was ${known[i]} before it was asked, and it said ${n}`);
        }
        await cluster.settled(3);
        await cluster.load.more(300);
        assert.notEqual(await incarnation(sleeper), before);
        cluster.expectOnly(...CUT_SHORT);
        await cluster.audit();
      });
    }
  });
}

const actors = (): string[] => Array.from({ length: ACTORS }, (_, i) => `actor ${i}`);

/** Its incarnation in the cluster. */
async function incarnation(host: ClusterProcess): Promise<string> {
  const address = await host.address();
  const { hosts } = await host.view();
  return hosts.find((one) => one.address === address)!.incarnation;
}

/** All actors are on these hosts, by the table of each. */
async function owns(hosts: readonly ClusterProcess[], but: ClusterProcess): Promise<boolean> {
  const address = await but.address();
  for (const host of hosts) {
    for (const actor of actors()) if ((await host.where(["Tally", actor])).owner === address) return false;
  }
  return true;
}
