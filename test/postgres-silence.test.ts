// A database that is silent, and not down: it accepts connections and never answers. Every user of the store
// gets an error with the right verdict about as soon as storeTimeout says, and everything works again when
// the database does.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Actor, type App, isLimpetError, limpet, workflow } from "limpet";
import { Middleman } from "./support/middleman.ts";
import { startPostgres, type TestServer } from "./support/postgres.ts";

class Counter extends Actor<{ n: number }> {
  initial() {
    return { n: 0 };
  }

  add() {
    return ++this.state.n;
  }

  override onReminder() {}
}

const flow = workflow("flow", async (ctx) => ctx.sleep("1h"));
const LEASES = { lease: "3s", leaderLease: "900ms", roundTimeout: "2500ms", moveTimeout: "1s" } as const;
const STORE_TIMEOUT_MS = 2_000;
/**
 * Far below the 19 s that the limits of one statement and of retries took together, far above a busy
 * machine's delays.
 */
const SOON_MS = 10_000;

async function outcome(what: string, asked: Promise<unknown>): Promise<string> {
  const begun = performance.now();
  try {
    await asked;
    return "done";
  } catch (error) {
    const ms = Math.round(performance.now() - begun);
    assert.ok(isLimpetError(error), `${what}: ${error}`);
    assert.ok(ms < SOON_MS, `${what}: ${error.code} after ${ms} ms`);
    return error.code;
  }
}

describe("when PostgreSQL is silent", { timeout: 600_000 }, () => {
  let server: TestServer;
  let middleman: Middleman;
  let app: App;
  before(async () => {
    server = await startPostgres();
    middleman = await Middleman.before(server.port);
    const url = new URL(await server.createDatabase());
    url.port = `${middleman.port}`;
    const storeTimeout = `${STORE_TIMEOUT_MS}ms` as const;
    app = await limpet({
      store: url.href,
      actors: [Counter],
      workflows: [flow],
      storeTimeout,
      cluster: LEASES,
      logLevel: "silent",
    });
  });
  after(async () => {
    await app?.stop();
    await middleman?.[Symbol.asyncDispose]();
    await server?.dispose();
  });

  test("each caller gets an error with the right verdict soon, and work goes on afterwards", async () => {
    await app.actor(Counter, "warm").add();
    middleman.isSilent = true;
    const { host, reminders, workflows } = app;
    const [commit, take, read, reminder, start, run] = await Promise.all([
      outcome("a commit", app.actor(Counter, "warm").add()),
      outcome("a take", app.actor(Counter, "cold").add()),
      outcome("a list", host.list({ limit: 1 })),
      outcome("a reminder", reminders.set(Counter, "a", "tea", { due: "1h" })),
      outcome("a start", workflows.start(flow, { id: "w", input: undefined })),
      outcome("a description", workflows.get("w").describe()),
    ]);
    // An unanswered write may have taken effect; reads and takes changed nothing.
    assert.deepEqual(
      { commit, reminder, start },
      { commit: "COMMIT_UNKNOWN", reminder: "COMMIT_UNKNOWN", start: "COMMIT_UNKNOWN" },
    );
    assert.deepEqual(
      { take, read, run },
      { take: "STORE_UNAVAILABLE", read: "STORE_UNAVAILABLE", run: "STORE_UNAVAILABLE" },
    );
    // By now the lease has ended, because no leader can renew it: the reason is still the store.
    assert.equal(await outcome("a call without a lease", app.actor(Counter, "late").add()), "STORE_UNAVAILABLE");
    middleman.isSilent = false;
    // The scheduler may still wait for an earlier request.
    for (let tries = 0; tries < 20; tries++) {
      if ((await outcome("a call afterwards", app.actor(Counter, "late").add())) === "done") return;
    }
    assert.fail("no call succeeds after the database answers again");
  });
});
