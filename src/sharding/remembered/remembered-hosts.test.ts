// Remembered actors on several hosts: they follow their shards through all failures of hosts, on every store.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { startPostgres, type TestServer } from "../../../test/support/postgres.ts";
import { Actor } from "../../actors/actor.ts";
import { sharded } from "../../actors/options/sharded-options.ts";
import type { App } from "../../host/app.ts";
import { eventually, TestApps } from "../../host/cluster-kit.test.ts";
import type { Store } from "../../ports/store/store.ts";
import { MemoryStore } from "../../stores/memory/memory-store.ts";
import { openPostgresStore } from "../../stores/postgres/postgres-store.ts";
import { openSqliteStore } from "../../stores/sqlite/sqlite-store.ts";
import { openWorld, type TestHost, type TestWorld } from "../../testing.ts";

class Guard extends Actor<{ n: number }> {
  static options = {
    placement: sharded({ shards: 12, remember: true, restartAfter: "1s", rebalance: "200ms", relativeLimit: 1 }),
  };
  initial() {
    return { n: 0 };
  }
  inc() {
    return ++this.state.n;
  }
  leave() {
    this.deactivate();
  }
  done() {
    this.passivate();
  }
}

const ids = Array.from({ length: 60 }, (_, i) => `id-${i}`);

async function activeOn(app: App): Promise<string[]> {
  const { actors } = await app.host.list({ type: "Guard", active: true, limit: 1_000 });
  return actors.map(({ id }) => id);
}

/** Reports whether all of these run, each of them once. */
async function allRun(apps: readonly App[], expected: readonly string[]): Promise<boolean> {
  const active = (await Promise.all(apps.map(activeOn))).flat();
  return JSON.stringify(active.sort()) === JSON.stringify(expected.toSorted());
}

interface Opened {
  readonly store: Store;
  close(): Promise<void>;
}

let server: Promise<TestServer> | undefined;
after(async () => (await server)?.dispose());

const STORES: Record<string, () => Promise<Opened>> = {
  memory: async () => ({ store: new MemoryStore(), close: async () => {} }),
  SQLite: async () => {
    const folder = await mkdtemp(join(tmpdir(), "limpet-"));
    const store = await openSqliteStore(join(folder, "limpet.db"));
    return { store, close: () => store.close().then(() => rm(folder, { recursive: true })) };
  },
  PostgreSQL: async () => {
    server ??= startPostgres();
    const store = await openPostgresStore(await (await server).createDatabase());
    return { store, close: () => store.close() };
  },
};

describe("remembered actors of a class", () => {
  it("remembered actors come back when the only host gives their class up and registers it again", async () => {
    class Other extends Actor {}
    await using apps = new TestApps();
    const one = await apps.open([Guard, Other]);
    await Promise.all(ids.map((id) => one.actor(Guard, id).inc()));
    await one.remove(Guard);
    assert.ok(await allRun([one], []));
    await one.add(Guard);
    await eventually(() => allRun([one], ids), "all of them run again");
  });
});

for (const [name, openStore] of Object.entries(STORES)) {
  describe(`remembered actors on hosts with a ${name} store`, () => {
    it("remembered actors start on other hosts, without a call, when their host stops and when one joins", async () => {
      const { store, close } = await openStore();
      try {
        await using apps = new TestApps();
        const open = () => apps.open([Guard], {}, { store });
        const [one, two] = [await open(), await open()];
        await Promise.all(ids.map((id) => one.actor(Guard, id).inc()));
        assert.ok(await allRun([one, two], ids));
        await two.stop();
        await eventually(() => allRun([one], ids), "all of them run on the one that is left");
        const three = await open();
        await eventually(
          async () => (await allRun([one, three], ids)) && (await activeOn(three)).length > 10,
          "all of them run, some of them on the new one",
        );
        const counts = await Promise.all(ids.map((id) => three.actor(Guard, id).inc()));
        assert.deepEqual(new Set(counts), new Set([2]));
      } finally {
        await close();
      }
    });

    it("remembered actors that have passivated do not come back, and actors that only left do", async () => {
      const { store, close } = await openStore();
      try {
        await using apps = new TestApps();
        const open = () => apps.open([Guard], {}, { store });
        const [one, two] = [await open(), await open()];
        await Promise.all(ids.map((id) => one.actor(Guard, id).inc()));
        const [done, left, stay] = [ids.slice(0, 20), ids.slice(20, 40), ids.slice(40)];
        await Promise.all(done.map((id) => two.actor(Guard, id).done()));
        await Promise.all(left.map((id) => two.actor(Guard, id).leave()));
        await eventually(() => allRun([one, two], [...left, ...stay]), "those that left are back");
        await one.stop();
        await eventually(() => allRun([two], [...left, ...stay]), "they run on the one that is left");
        await two.stop();
        const three = await open();
        await eventually(() => allRun([three], [...left, ...stay]), "they run on one that was not there before");
        assert.equal(await three.actor(Guard, done[0]!).inc(), 2);
        assert.ok(await allRun([three], [done[0]!, ...left, ...stay]));
      } finally {
        await close();
      }
    });
  });
}

// ——— Lost hosts, on virtual time.

const upHosts = ({ hosts }: TestWorld): TestHost[] => hosts.filter(({ isUp, isAsleep }) => isUp && !isAsleep);

async function running(world: TestWorld): Promise<string[]> {
  const active = await Promise.all(upHosts(world).map((host) => host.run((app) => activeOn(app))));
  return active.flat().sort();
}

async function untilAllRun(world: TestWorld, expected: readonly string[]): Promise<void> {
  for (let i = 0; i < 120; i++) {
    if (JSON.stringify(await running(world)) === JSON.stringify(expected.toSorted())) return;
    await world.advance("1s");
  }
  assert.deepEqual(await running(world), expected.toSorted());
}

describe("remembered actors of hosts that are lost", () => {
  it("remembered actors start on other hosts when theirs crashes, without a call, unless they passivated", async () => {
    await using world = await openWorld({ actors: [Guard], hosts: 3 });
    const [first] = world.hosts;
    for (const id of ids) await first.actor(Guard, id).inc();
    for (const id of ids.slice(0, 5)) await first.actor(Guard, id).done();
    const rest = ids.slice(5);
    await untilAllRun(world, rest);
    world.crash(1);
    await untilAllRun(world, rest);
    world.losePower(2);
    await untilAllRun(world, rest);
    await world.restart(1);
    await world.restart(2);
    await untilAllRun(world, rest);
    for (const id of ids) assert.equal(await first.actor(Guard, id).inc(), 2);
    await untilAllRun(world, ids);
  });

  it("remembered actors are all back when the whole cluster was lost", async () => {
    await using world = await openWorld({ actors: [Guard], hosts: 3, seed: 2 });
    for (const id of ids) await world.hosts[0].actor(Guard, id).inc();
    for (const host of world.hosts) world.crash(host);
    await world.advance("1m");
    for (const host of world.hosts) await world.restart(host);
    await untilAllRun(world, ids);
  });

  it("remembered actors run once when their host was cut off for a while and comes back", async () => {
    await using world = await openWorld({ actors: [Guard], hosts: 3, seed: 3 });
    for (const id of ids) await world.hosts[0].actor(Guard, id).inc();
    world.isolate(2);
    await world.advance("2m");
    const others = world.hosts.slice(0, 2);
    const active = await Promise.all(others.map((host) => host.run((app) => activeOn(app))));
    assert.deepEqual(active.flat().sort(), ids.toSorted());
    for (const other of others) world.mend(2, other);
    await untilAllRun(world, ids);
  });
});
