// Reminders and jobs in a whole cluster, on virtual time.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../actors/actor.ts";
import type { App } from "../host/app.ts";
import type { Duration } from "../kernel/durations.ts";
import type { ReminderOptions } from "../ports/reminder-options.ts";
import type { ReminderTick } from "../ports/reminder-writer.ts";
import type { HostRef, TestWorld } from "./test-world.ts";
import { openWorld } from "./test-world.ts";
import type { TestWorldOptions } from "./test-world-options.ts";

interface Ring {
  readonly id: string;
  readonly name: string;
  readonly number: number;
  readonly attempt: number;
  readonly due: number;
  /** By an exact clock. */
  readonly at: number;
}

/** World of the running test. */
let world: TestWorld;
let rings: Ring[] = [];

class Bell extends Actor<{ rung: number }> {
  /** Additional behaviour by the name of the reminder. */
  static does: Record<string, (tick: ReminderTick) => unknown> = {};
  initial() {
    return { rung: 0 };
  }
  async set(name: string, options: ReminderOptions) {
    await this.reminders.set(name, options);
  }
  async cancel(name: string) {
    await this.reminders.cancel(name);
  }
  rung() {
    return this.state.rung;
  }
  override async onReminder(name: string, _data: unknown, tick: ReminderTick) {
    rings.push({ id: this.id, name, ...tick, at: world.now });
    await Bell.does[name]?.(tick);
    this.state.rung++;
  }
}

/** Has no state, so that the delivering process settles its ticks. */
class Gong extends Actor {
  override async onReminder(name: string, _data: unknown, tick: ReminderTick) {
    rings.push({ id: this.id, name, ...tick, at: world.now });
    await Bell.does[name]?.(tick);
  }
}

async function open(options: Partial<TestWorldOptions> = {}): Promise<TestWorld> {
  rings = [];
  Bell.does = {};
  world = await openWorld({ actors: [Bell, Gong], hosts: ["a", "b", "c"], ...options });
  return world;
}

const IDS = Array.from({ length: 20 }, (_, i) => `bell-${i}`);
const on = <T>(host: HostRef, work: (app: App) => Promise<T>): Promise<T> => world.host(host).run(work);
const set = (host: HostRef, type: typeof Bell | typeof Gong, id: string, name: string, options: ReminderOptions) =>
  on(host, (app) => app.reminders.set(type, id, name, options));
const left = (host: HostRef) => on(host, (app) => app.host.reminders.count());

const NOTHING_LEFT = { all: 0, overdue: 0, dead: 0 };

/** Asserts that each tick came in its time, within this tolerance. */
function assertPunctual(some: readonly Ring[], lateMs = 20): void {
  for (const { id, name, number, due, at } of some) {
    const late = at - due;
    assert.ok(late >= 0 && late <= lateMs, `${id} ${name} ${number} came ${late} ms after its moment`);
  }
}

/** Asserts that each tick of each reminder came once. */
function assertOnce(some: readonly Ring[]): void {
  const all = some.map(({ id, name, number, attempt }) => `${id} ${name} ${number}.${attempt}`);
  assert.deepEqual(all, [...new Set(all)]);
}

async function downFor(duration: Duration, ...hosts: readonly string[]): Promise<void> {
  for (const host of hosts) world.crash(host);
  await world.advance(duration);
  await Promise.all(hosts.map((host) => world.restart(host)));
}

describe("reminders in a cluster", () => {
  it("reminders fire once each, in time, on any host and set by any host", async () => {
    await using _ = await open();
    for (const [i, id] of IDS.entries()) {
      await world.hosts[i % 3]!.actor(Bell, id).set("from inside", { due: 1_000 + i * 700 });
      await set(["b", "c", "a"][i % 3]!, Bell, id, "from outside", { due: 1_000 + i * 900 });
      await set("a", Gong, id, "gong", { due: 20_000 });
    }
    await world.advance("30s");
    assert.equal(rings.length, IDS.length * 3);
    assertOnce(rings);
    assertPunctual(rings);
    for (const id of IDS) assert.equal(await world.host("a").actor(Bell, id).rung(), 2);
    assert.deepEqual(await left("a"), NOTHING_LEFT);
    // All hosts delivered some.
    for (const { app } of world.hosts) assert.match(app.metrics(), /limpet_reminders_fired_total\{[^}]*\} [1-9]/);
  });

  it("reminders fire in time in a single process, which gets no notification of its own writes", async () => {
    await using _ = await open({ hosts: ["a"] });
    for (const [i, id] of IDS.entries())
      await world
        .host("a")
        .actor(Bell, id)
        .set("tea", { due: 1 + i * 2_000 });
    await world.advance("1m");
    assert.equal(rings.length, IDS.length);
    assertPunctual(rings);
  });

  it("reminders stay on their grid while hosts come and go", async () => {
    await using _ = await open();
    const begin = world.now;
    for (const id of IDS) await world.host("a").actor(Bell, id).set("beat", { every: "10s", missed: "all" });
    await world.advance("25s");
    await world.stopHost("b");
    await world.advance("30s");
    await world.restart("b");
    await world.stopHost("c");
    await world.advance("30s");
    await world.restart("c");
    await world.advance("35s");
    assertOnce(rings);
    for (const id of IDS) {
      const own = rings.filter((ring) => ring.id === id);
      assert.deepEqual(
        own.map(({ number }) => number),
        own.map((_ring, i) => i + 1),
      );
      assert.ok(own.length >= 12, `${id} rang ${own.length} times`);
      const first = own[0]!.due;
      assert.ok(first - begin - 10_000 < 100);
      for (const { due, number } of own) assert.equal(due, first + (number - 1) * 10_000);
    }
  });

  it("reminders of a lost process are claimed when its lease has ended, and not before", async () => {
    await using _ = await open();
    const begin = world.now;
    for (const id of IDS) await set("a", Bell, id, "tea", { due: "3s" });
    const last = world.now;
    world.losePower("a");
    await world.advance("60s");
    assertOnce(rings);
    assert.equal(rings.length, IDS.length);
    for (const { at } of rings) assert.ok(at >= begin + 30_000 && at <= last + 30_000 + 5_000, `${at - begin}`);
  });

  it("reminders of a stopping process are available to others at once", async () => {
    await using _ = await open({ reminders: { lease: "10m" } });
    for (const id of IDS) await set("a", Bell, id, "tea", { due: "4s" });
    await world.stopHost("a");
    await world.advance("40s");
    assertOnce(rings);
    assert.equal(rings.length, IDS.length);
    assert.deepEqual(await left("b"), NOTHING_LEFT);
  });

  it("handlers of reminders complete when their process stops", async () => {
    await using _ = await open();
    Bell.does = { slow: () => world.advance("5s") };
    for (const id of IDS) await set("a", Bell, id, "slow", { due: 0 });
    await world.advance("1s");
    await world.stopHost("a");
    await world.advance("60s");
    for (const id of IDS) assert.equal(await world.host("b").actor(Bell, id).rung(), 1, id);
    assert.deepEqual(await left("b"), NOTHING_LEFT);
  });

  it("reminders can be replaced or cancelled until the last moment, from any host", async () => {
    await using _ = await open();
    for (const [i, id] of IDS.entries()) {
      const bell = world.hosts[i % 3]!.actor(Bell, id);
      await bell.set("cancelled", { due: "3s" });
      await bell.set("replaced", { due: "3s" });
      await bell.set("outside", { due: "3s" });
    }
    await world.advance("1s");
    for (const [i, id] of IDS.entries()) {
      const host = world.hosts[(i + 1) % 3]!;
      await host.actor(Bell, id).cancel("cancelled");
      await host.actor(Bell, id).set("replaced", { due: "10s" });
      await on(host, (app) => app.reminders.cancel(Bell, id, "outside"));
    }
    const changed = world.now;
    await world.advance("60s");
    assert.deepEqual(new Set(rings.map(({ name }) => name)), new Set(["replaced"]));
    assert.equal(rings.length, IDS.length);
    for (const { at } of rings) assert.ok(at > changed + 7_000);
  });

  it("a reminder that is replaced again and again fires once", async () => {
    await using _ = await open();
    for (let i = 0; i < 10; i++) {
      await world.hosts[i % 3]!.actor(Bell, "x").set("flush", { due: "2s" });
      await world.advance("300ms");
    }
    await world.advance("30s");
    assert.equal(rings.length, 1);
    assertPunctual(rings);
  });

  it("a reminder that is cancelled or replaced while it fires stays so", async () => {
    await using _ = await open();
    Bell.does = { slow: () => world.advance("2s") };
    await set("a", Gong, "cancelled", "slow", { every: "5s" });
    await set("a", Gong, "anew", "slow", { every: "5s" });
    await world.advance("6s");
    assert.equal(rings.length, 2);
    await on("b", (app) => app.reminders.cancel(Gong, "cancelled", "slow"));
    await set("c", Gong, "anew", "slow", { due: "1m", data: "new" });
    await world.advance("50s");
    assert.equal(rings.length, 2);
    assert.equal((await on("a", (app) => app.reminders.get(Gong, "anew", "slow")))?.data, "new");
    await world.advance("20s");
    assert.deepEqual(
      rings.map(({ id, number }) => `${id} ${number}`),
      ["cancelled 1", "anew 1", "anew 1"],
    );
  });

  it("a reminder with a handler that takes longer than a lease is not delivered twice", async () => {
    await using _ = await open({ callTimeout: "10m" });
    Bell.does = { long: () => world.advance("3m") };
    await set("a", Bell, "x", "long", { due: 0 });
    await set("b", Gong, "y", "long", { due: 0 });
    await world.advance("5m");
    assert.equal(rings.length, 2);
    assert.equal(await world.host("c").actor(Bell, "x").rung(), 1);
    assert.deepEqual(await left("a"), NOTHING_LEFT);
  });

  it("a reminder with a handler that never returns is given up, and delays no other", async () => {
    await using _ = await open();
    Bell.does = { endless: () => new Promise(() => {}) };
    await set("a", Bell, "x", "endless", { due: 0, onFailure: { attempts: 2 } });
    for (const id of IDS) await set("b", Bell, id, "tea", { due: "90s" });
    await world.advance("5m");
    const teas = rings.filter(({ name }) => name === "tea");
    assert.equal(teas.length, IDS.length);
    assertPunctual(teas);
    assert.deepEqual(await left("a"), { all: 0, overdue: 0, dead: 1 });
    world.crash("a");
    world.crash("b");
    world.crash("c");
  });

  for (const [missed, expected] of [
    ["once", [13, 14, 15]],
    ["all", [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]],
    ["skip", [14, 15]],
  ] as const) {
    it(`reminders that were missed while everything was down: ${missed}`, async () => {
      await using _ = await open({ hosts: ["a", "b"] });
      await set("a", Gong, "x", "beat", { every: "1m", missed });
      await world.advance("150s");
      assert.deepEqual(
        rings.map(({ number }) => number),
        [1, 2],
      );
      // From 2½ to 13½ minutes.
      await downFor("11m", "a", "b");
      await world.advance("100s");
      assert.deepEqual(
        rings.slice(2).map(({ number }) => number),
        expected,
      );
      const first = rings[0]!.due;
      for (const { due, number } of rings) assert.equal(due, first + (number - 1) * 60_000);
    });
  }

  it("reminders of a type without a host wait until there is one", async () => {
    await using _ = await open({ hosts: ["a", { name: "b", actors: [Gong] }] });
    await world.restart("a", { actors: [Gong] });
    await set("a", Bell, "x", "tea", { due: "1s" });
    await world.advance("10m");
    assert.deepEqual([rings.length, (await left("a")).overdue], [0, 1]);
    await world.host("b").run((app) => app.add(Bell));
    await world.advance("5s");
    assert.equal(rings.length, 1);
    await world.host("b").run((app) => app.remove(Bell));
    await set("a", Bell, "x", "tea", { due: "1s" });
    await world.advance("1m");
    assert.equal(rings.length, 1);
    await world.restart("a", { actors: [Bell] });
    await world.advance("5s");
    assert.equal(rings.length, 2);
    assert.deepEqual(await left("a"), NOTHING_LEFT);
  });

  it("10,000 reminders of the same millisecond fire once each", async () => {
    await using _ = await open();
    const due = new Date(world.now + 20_000);
    const ids = Array.from({ length: 10_000 }, (_ring, i) => `gong-${i % 500}/${i}`);
    await on("a", (app) =>
      Promise.all(ids.map((text) => app.reminders.set(Gong, text.split("/")[0]!, text.split("/")[1]!, { due }))),
    );
    await world.advance(due.getTime() - world.now + 5_000);
    assertOnce(rings);
    assert.equal(rings.length, 10_000);
    for (const { at } of rings) assert.ok(at >= due.getTime());
    assert.deepEqual(await left("b"), NOTHING_LEFT);
  });

  it("reminders of one type are not delayed by slow handlers of another", async () => {
    await using _ = await open({ hosts: ["a", "b"], reminders: { concurrency: 50, batchSize: 50 } });
    Bell.does = { slow: () => world.advance("20s") };
    await on("a", (app) =>
      Promise.all(Array.from({ length: 2_000 }, (_ring, i) => app.reminders.set(Gong, `${i}`, "slow", { due: 0 }))),
    );
    await world.advance("1s");
    for (const [i, id] of IDS.entries()) await set("a", Bell, id, "tea", { due: 1_000 + i * 500 });
    await world.advance("12s");
    const quick = rings.filter(({ name }) => name === "tea");
    assert.equal(quick.length, IDS.length);
    assertPunctual(quick, 50);
    assert.ok((await left("a")).all > 1_000);
    Bell.does = {};
  });

  it("reminders of a process that was paused for longer than its lease are delivered by others, and not once more by it", async () => {
    for (const sleep of ["pause", "suspend"] as const) {
      await using _ = await open();
      for (const id of IDS) await set("a", Bell, id, "tea", { due: "2s" });
      world[sleep]("a", "2m");
      await world.advance("5m");
      for (const id of IDS) assert.equal(await world.host("b").actor(Bell, id).rung(), 1);
      assertOnce(rings);
      assert.deepEqual(await left("b"), NOTHING_LEFT);
    }
  });

  it("reminders are not delayed by a host that reaches only the database", async () => {
    await using _ = await open();
    const leader = world.hosts.find(({ app }) => app.host.status().scheduler?.leads)!;
    const alone = world.hosts.find((host) => host !== leader)!;
    world.isolate(alone);
    // Until the isolation is detected.
    await world.advance("30s");
    const other = world.hosts.find((host) => host !== leader && host !== alone)!;
    for (const id of IDS) await set(other, Bell, id, "tea", { due: "40s" });
    await world.advance("2m");
    assert.equal(rings.length, IDS.length);
    assertOnce(rings);
    assertPunctual(rings, 3_000);
    world.heal();
    await world.settled();
    for (const id of IDS) await set(alone, Bell, id, "again", { due: "1s" });
    await world.advance("30s");
    assert.equal(rings.length, IDS.length * 2);
  });

  it("reminders are never early and not lost under faults of the database and of clocks", async () => {
    await using _ = await open();
    for (const id of IDS) await set("a", Bell, id, "tea", { due: "30s" });
    for (const id of IDS) await set("b", Gong, id, "beat", { every: "7s", times: 10, missed: "all" });
    world.jumpClock("a", "1h");
    world.jumpClock("b", "-1h");
    world.database.losingAnswers(0.3);
    await world.advance("20s");
    world.database.slow("500ms", 0.5);
    world.database.failing(0.3);
    await world.advance("30s");
    world.database.goDown();
    await world.advance("20s");
    world.database.comeBack();
    world.database.heal();
    await world.advance("3m");
    for (const { at, due, id, name } of rings) assert.ok(at >= due, `${id} ${name} came ${due - at} ms early`);
    for (const id of IDS) {
      const own = rings.filter((ring) => ring.id === id);
      assert.ok(own.some(({ name }) => name === "tea"));
      const beats = own.filter(({ name }) => name === "beat").map(({ number }) => number);
      assert.deepEqual(
        [...new Set(beats)].toSorted((x, y) => x - y),
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
      );
    }
    assert.deepEqual(await left("c"), NOTHING_LEFT);
  });

  it("all reminders fire at least once, under all faults", async () => {
    await using _ = await open();
    for (const [i, id] of IDS.entries()) {
      await set("a", Bell, id, "tea", { due: i * 3_000 });
      await set("b", Gong, id, "beat", { every: "9s", times: 5, missed: "all" });
    }
    await world.chaos("60s");
    await world.advance("3m");
    for (const { at, due } of rings) assert.ok(at >= due);
    for (const id of IDS) {
      const own = new Set(rings.filter((ring) => ring.id === id).map(({ name, number }) => `${name} ${number}`));
      assert.deepEqual([...own].toSorted(), ["beat 1", "beat 2", "beat 3", "beat 4", "beat 5", "tea 1"], id);
    }
    assert.deepEqual(await left("c"), NOTHING_LEFT);
  });

  it("reminders are equal in two runs of the same seed", async () => {
    const traces: string[] = [];
    for (let i = 0; i < 2; i++) {
      await using _ = await open({ seed: 7 });
      for (const id of IDS) await set("a", Bell, id, "beat", { every: "900ms" });
      await world.chaos("20s");
      traces.push(world.trace);
    }
    assert.equal(traces[0], traces[1]);
  });
});

describe("jobs", () => {
  interface Run {
    readonly host: string;
    readonly number: number;
    readonly due: number;
    readonly at: number;
  }
  let runs: Run[] = [];

  async function have(name: string, options: ReminderOptions | undefined, hosts: readonly string[]): Promise<void> {
    const sets = hosts.map((host) =>
      on(host, (app) =>
        app.jobs.set(name, options, (_data, { number, due }) => void runs.push({ host, number, due, at: world.now })),
      ),
    );
    await Promise.all(sets);
  }

  it("jobs run once for each tick, in one of the processes that have them", async () => {
    await using _ = await open();
    runs = [];
    await have("sweep", { every: "10s" }, ["a", "b", "c"]);
    await world.advance("2m5s");
    assert.deepEqual(
      runs.map(({ number }) => number),
      runs.map((_run, i) => i + 1),
    );
    assert.equal(runs.length, 12);
    for (const { at, due } of runs) assert.ok(at >= due && at < due + 30);
  });

  it("jobs continue in another process when one is lost, and by their policy when all were down", async () => {
    await using _ = await open();
    runs = [];
    await have("sweep", { every: "10s", missed: "all" }, ["a", "b"]);
    await world.advance("15s");
    world.crash(runs[0]!.host);
    await world.advance("2m");
    assert.deepEqual(
      runs.map(({ number }) => number),
      runs.map((_run, i) => i + 1),
    );
    assert.ok(runs.length >= 12, `${runs.length}`);
  });

  it("a job is restarted by a process with another schedule, and not by one with the same", async () => {
    await using _ = await open();
    runs = [];
    await have("sweep", { every: "1m" }, ["a"]);
    const first = await on("a", (app) => app.jobs.get("sweep"));
    await world.advance("30s");
    await have("sweep", { every: "1m" }, ["b", "c"]);
    assert.equal((await on("b", (app) => app.jobs.get("sweep")))?.next, first?.next);
    await have("sweep", { every: "2m" }, ["c"]);
    assert.notEqual((await on("b", (app) => app.jobs.get("sweep")))?.next, first?.next);
    // A changed or new end is another schedule.
    for (const until of [new Date(world.now + 600_000), new Date(world.now + 700_000)]) {
      await have("sweep", { every: "2m", until }, ["a"]);
      const info = await on("b", (app) => app.jobs.get("sweep"));
      assert.match(info?.schedule ?? "", new RegExp(until.toISOString()));
    }
    const due = Math.ceil(world.now) + 60_000;
    await have("moved", { due: new Date(due) }, ["a"]);
    await have("moved", { due: new Date(due - 10_000) }, ["b"]);
    assert.equal((await on("a", (app) => app.jobs.get("moved")))?.next, due - 10_000);
  });

  it("a job that several processes set at the same moment is set once", async () => {
    for (let seed = 1; seed <= 10; seed++) {
      await using _ = await open({ seed });
      runs = [];
      await have("sweep", { every: "1s" }, ["a", "b", "c"]);
      await world.advance("5500ms");
      assert.deepEqual(
        runs.map(({ number }) => number),
        [1, 2, 3, 4, 5],
        `seed ${seed}`,
      );
    }
  });

  it("a job can be handled by a process without its schedule, and cancelled by one without its handler", async () => {
    await using _ = await open();
    runs = [];
    await have("sweep", { every: "10s" }, ["a"]);
    await have("sweep", undefined, ["b"]);
    world.crash("a");
    await world.advance("1m");
    assert.ok(runs.length >= 2 && runs.every(({ host }) => host === "b"), JSON.stringify(runs));
    await on("c", (app) => app.jobs.cancel("sweep"));
    const { length } = runs;
    await world.advance("1m");
    assert.equal(runs.length, length);
    assert.equal(await on("c", (app) => app.jobs.get("sweep")), undefined);
  });
});
