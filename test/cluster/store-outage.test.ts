// The store rejects writes for a while, under the whole cluster. Callers wait, or get a definite failure, or
// an unknown outcome. When the store is back everything continues, without the restart of a process.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { stretchedMs } from "../support/busy.ts";
import { TestCluster } from "../support/cluster.ts";
import { GROUNDS, type Grounds } from "../support/cluster-places.ts";
import { lockSqlite } from "../support/stand-still.ts";

const AWAY = ["STORE_UNAVAILABLE", "COMMIT_UNKNOWN", "LEASE_LOST", "NOT_READY", "FENCED"];
/** Longer than the lease of a leader and shorter than the store timeout; and the reverse. */
const OUTAGES_MS = [stretchedMs(1_500), stretchedMs(4_000)];
/** All processes of the cluster compete for the lock of the file, and SQLite has no queue. */
const LOCK_PATIENCE_MS = 60_000;

for (const { store, open } of GROUNDS) {
  describe(`a cluster whose ${store} is away for a while`, { timeout: 600_000 }, () => {
    let grounds: Grounds;
    before(async () => {
      grounds = await open();
    });
    after(() => grounds?.[Symbol.asyncDispose]());

    /** Resolves with a function that ends the outage. */
    async function takeAway(file: string): Promise<() => Promise<void>> {
      const { server } = grounds;
      if (server === undefined) {
        const release = lockSqlite(file, LOCK_PATIENCE_MS);
        return async () => release();
      }
      await server.stop("immediate");
      return () => server.start();
    }

    test("a cluster continues after an outage of its store, and has lost nothing it acknowledged", async (t) => {
      await using place = await grounds.place();
      await using cluster = new TestCluster(t, place);
      const hosts = await cluster.startAll(["one", "two", "three"], { storeTimeout: "2s" });
      await cluster.settled(3);
      cluster.load.through(...hosts);
      for (const ms of OUTAGES_MS) {
        await cluster.load.more(200);
        const bringBack = await takeAway(cluster.store);
        try {
          const acked = cluster.load.ledger.acked;
          await pause(ms);
          // Acknowledgements of earlier writes may still have been in flight.
          assert.ok(cluster.load.ledger.acked - acked < 100, "nothing is acknowledged that cannot be durable");
        } finally {
          await bringBack();
        }
        await cluster.settled(3);
      }
      await cluster.load.more(300);
      cluster.expectOnly(...AWAY);
      await cluster.audit();
    });
  });
}
