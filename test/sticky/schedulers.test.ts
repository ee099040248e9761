// Two dedicated schedulers, as `limpet scheduler` runs them, of which the leader is killed while thousands of
// sticky actors are held and others get their first call. The successor learns the leader's state from the
// hosts.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { CliProcess } from "../support/cli.ts";
import type { ClusterProcess } from "../support/cluster-process.ts";
import { freePort } from "../support/free-port.ts";
import { startPostgres, type TestServer } from "../support/postgres.ts";
import { tempPlace } from "../support/two-stores.ts";
import { until } from "./callers.ts";
import { StickyCluster, someIds } from "./sticky-cluster.ts";

const HELD = 2_000;
const COLD = 1_000;
const FRESH = 2_000;
/** First calls in flight at a time. */
const AT_ONCE = 60;

describe("sticky actors of a cluster on PostgreSQL with dedicated schedulers", { timeout: 600_000 }, () => {
  let server: TestServer;
  before(async () => {
    server = await startPostgres();
  });
  after(() => server?.dispose());

  test("sticky actors stay, and first calls are answered, when the leading scheduler is killed", async (t) => {
    await using temp = await tempPlace();
    const place = { ...temp, store: await server.createDatabase() };
    await using stack = new AsyncDisposableStack();
    const schedulers = new Map<string, CliProcess>();
    for (let i = 0; i < 2; i++) {
      const port = await freePort();
      const flags = ["--store", place.store, "--scheduler-port", `${port}`, "--no-http"];
      const scheduler = stack.use(new CliProcess(["scheduler", ...flags], { cwd: place.folder }));
      schedulers.set(`127.0.0.1:${port}`, scheduler);
    }
    await Promise.all([...schedulers.values()].map((one) => one.until("stdout", /ready/)));
    await using cluster = new StickyCluster(t, place);
    const options = { schedulers: [...schedulers.keys()] };
    const early = await cluster.startAll(["one", "two"], options);
    await cluster.settled(2);
    const cold = await cluster.fill(someIds("cold", COLD), early);
    // The ring assigns many of these to a host that does not know them.
    const three = await cluster.start("three", options);
    await cluster.settled(3);
    const hosts = [...early, three];
    const homes = await cluster.fill(someIds("actor", HELD), hosts);
    assert.deepEqual(new Set(homes.values()), new Set(["one", "two", "three"]));
    const callers = cluster.callers([...homes.keys()]).through(...hosts);

    const fresh = someIds("fresh", FRESH);
    const first = new FirstCalls(hosts, fresh);
    const all = Promise.all(Array.from({ length: AT_ONCE }, () => first.lane()));
    await until(() => first.answered >= FRESH / 10, "first calls are answered");
    const leader = await leading(hosts[0]!);
    await schedulers.get(leader)!.end("SIGKILL");
    await Promise.all([all, ...[...cold.keys()].map((id) => three.report(id))]);
    await until(async () => (await leading(hosts[0]!).catch(() => leader)) !== leader, "the other one leads");
    await cluster.settled(3);
    await callers.more(200);

    assert.equal(first.answered, FRESH);
    callers.expectOnly();
    assert.deepEqual(await cluster.homes([...cold.keys(), ...homes.keys()]), new Map([...cold, ...homes]));
    const lives = await cluster.lives();
    for (const [id, home] of [...cold, ...homes, ...(await cluster.homes(fresh))]) {
      assert.deepEqual(lives.get(id), [home], `${id} has lived once, where its successor knows it to be`);
    }
    assert.equal(await hosts[0]!.metric("limpet_host_leases_lost_total"), 0);
    await cluster.audit();
  });
});

/** Calls each id once, through one host after the other. */
class FirstCalls {
  readonly #hosts: readonly ClusterProcess[];
  readonly #ids: readonly string[];
  #begun = 0;
  answered = 0;

  constructor(hosts: readonly ClusterProcess[], ids: readonly string[]) {
    this.#hosts = hosts;
    this.#ids = ids;
  }

  async lane(): Promise<void> {
    for (let i = this.#begun++; i < this.#ids.length; i = this.#begun++) {
      const { n } = await this.#hosts[i % this.#hosts.length]!.report(this.#ids[i]!);
      assert.equal(n, 0);
      this.answered++;
    }
  }
}

/** The address of the scheduler that leads. */
async function leading(host: ClusterProcess): Promise<string> {
  const { schedulers } = await host.view();
  return schedulers.find(({ leader }) => leader)!.address;
}
