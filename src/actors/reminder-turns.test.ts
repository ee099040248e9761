// Turns of reminders that are void or fail: their effects, their retries, and their metrics.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor, LimpetError, type ReminderTick } from "../index.ts";
import type { Commit, CommitOutcome } from "../ports/store/store.ts";
import { MemoryStore, type TestApp, testLimpet } from "../testing.ts";
import { BEGINNING } from "../world/local-clock.ts";

/** Clock of the app that was opened last. */
let clock: TestApp["clock"] | undefined;

/** Lets a test act between a handler and its commit. */
class Between extends MemoryStore {
  before: ((settles: boolean) => Promise<unknown> | undefined) | undefined;
  outcomes: CommitOutcome[] = [];
  /** Offset of the store's clock to the clock of the app. */
  aheadMs = 0;

  constructor() {
    super(() => (clock?.now() ?? BEGINNING) + this.aheadMs);
  }

  override async commit(batch: readonly Commit[]): Promise<CommitOutcome[]> {
    await this.before?.(batch.some(({ settle }) => settle !== undefined));
    const outcomes = await super.commit(batch);
    this.outcomes.push(...outcomes);
    return outcomes;
  }
}

/** Records every tick, in its state and in memory. */
class Diary extends Actor<{ ticks: string[]; ballast: string }> {
  static seen: string[] = [];
  static handle: (diary: Diary, name: string) => unknown = () => {};
  initial() {
    return { ticks: [] as string[], ballast: "" };
  }
  load(bytes: number) {
    this.state.ballast = "x".repeat(bytes);
  }
  read() {
    return [...this.state.ticks];
  }
  async set(name: string, due: string) {
    await this.reminders.set(name, { due });
  }
  override async onReminder(name: string, data: unknown, { number, attempt }: ReminderTick) {
    Diary.seen.push(`${name} ${number}.${attempt}`);
    this.state.ticks.push(`${name} ${number} ${data ?? ""}`.trim());
    await Diary.handle(this, name);
  }
}

async function open(store: MemoryStore): Promise<TestApp> {
  Diary.seen = [];
  Diary.handle = () => {};
  clock = undefined;
  const app = await testLimpet({ actors: [Diary], stateStore: store, reminders: { lease: "30s" } });
  clock = app.clock;
  return app;
}

const ASKED = { namespace: "default", types: ["Diary"], limit: 9, aheadMs: 0, leaseMs: 30_000 };
const KEY = { namespace: "default", type: "Diary", id: "a", name: "tea" };

/** The value of a metric, as Prometheus would read it. */
function read(text: string, series: string): number {
  const line = text.split("\n").find((one) => one.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1) ?? 0);
}
const counted = (app: TestApp, name: string) =>
  read(app.metrics(), `limpet_reminders_${name}_total{namespace="default"}`);

describe("a handler whose reminder was replaced, cancelled or claimed before it commits", () => {
  /** Runs `happens` once, when the handler has ended and its commit is in progress. */
  const once = (store: Between, happens: () => Promise<unknown>): void => {
    store.before = (settles) => {
      if (!settles) return undefined;
      store.before = undefined;
      return happens();
    };
  };

  for (const bytes of [0, 20_000]) {
    const size = bytes === 0 ? "small" : "large";

    it(`the handler of a replaced reminder changes nothing, and the new reminder counts (${size} state)`, async () => {
      const store = new Between();
      await using app = await open(store);
      const diary = app.actor(Diary, "a");
      await diary.load(bytes);
      await app.reminders.set(Diary, "a", "tea", { due: "1s", data: "old" });
      once(store, () => app.reminders.set(Diary, "a", "tea", { due: "10s", data: "new" }));
      await app.advance("2s");
      assert.deepEqual([Diary.seen, store.outcomes.at(-1), await diary.read()], [["tea 1.1"], "void", []]);
      await app.advance("10s");
      assert.deepEqual([Diary.seen, await diary.read()], [["tea 1.1", "tea 1.1"], ["tea 1 new"]]);
      assert.deepEqual(await store.reminders.count("default", 9), { all: 0, overdue: 0, dead: 0 });
    });
  }

  it("the handler of a cancelled reminder changes nothing, and nothing is retried", async () => {
    const store = new Between();
    await using app = await open(store);
    await app.reminders.set(Diary, "a", "tea", { due: "1s", every: "1m" });
    Diary.handle = (diary) => diary.set("more", "1s");
    once(store, () => app.reminders.cancel(Diary, "a", "tea"));
    await app.advance("10m");
    assert.deepEqual([Diary.seen, await app.actor(Diary, "a").read()], [["tea 1.1"], []]);
    assert.deepEqual(await store.reminders.count("default", 9), { all: 0, overdue: 0, dead: 0 });
    assert.deepEqual(
      ["replaced", "fired", "retried", "failed"].map((name) => counted(app, name)),
      [1, 0, 0, 0],
    );
    const turns = 'limpet_turns_total{namespace="default",outcome="error",type="Diary"}';
    assert.equal(read(app.metrics(), turns), 1);
  });

  it("a reminder claimed by another process is left to that process", async () => {
    const store = new Between();
    await using app = await open(store);
    await app.reminders.set(Diary, "a", "tea", { due: "1s" });
    once(store, () => {
      // The lease is over by the store's clock.
      store.aheadMs = 60_000;
      return store.reminders.claim({ ...ASKED, token: "theirs" });
    });
    await app.advance("20s");
    assert.deepEqual([Diary.seen, await app.actor(Diary, "a").read()], [["tea 1.1"], []]);
    assert.ok((await store.reminders.get(KEY))?.leasedUntil, "the other one has it");
    // The other process dies. When its lease is over, the tick runs once more, and counts.
    await app.advance("60s");
    assert.deepEqual([Diary.seen.length, await app.actor(Diary, "a").read()], [2, ["tea 1"]]);
  });
  it("a handler may cancel or replace its own reminder", async () => {
    const store = new Between();
    await using app = await open(store);
    Diary.handle = (diary, name) => (name === "gone" ? diary.reminders.cancel(name) : diary.set(name, "1h"));
    for (const name of ["gone", "anew"]) await app.reminders.set(Diary, "a", name, { due: "1s", every: "5s" });
    await app.advance("30s");
    assert.deepEqual([Diary.seen, store.outcomes.includes("void")], [["gone 1.1", "anew 1.1"], false]);
    assert.deepEqual(await app.actor(Diary, "a").read(), ["gone 1", "anew 1"]);
  });
});

describe("a tick that took longer than a call may", () => {
  it("a tick that took longer than a call may has its effect once, although it was retried meanwhile", async () => {
    const store = new Between();
    await using app = await open(store);
    let isFirst = true;
    Diary.handle = () => {
      if (!isFirst) return undefined;
      isFirst = false;
      return new Promise((go) => app.clock.after(60_000, () => go(undefined)));
    };
    await app.reminders.set(Diary, "a", "tea", { due: "1s", onFailure: { pause: "1s" } });
    await app.advance("5m");
    assert.deepEqual(Diary.seen.slice(0, 2), ["tea 1.1", "tea 1.2"]);
    assert.deepEqual(await app.actor(Diary, "a").read(), ["tea 1"]);
    assert.deepEqual(await store.reminders.count("default", 9), { all: 0, overdue: 0, dead: 0 });
  });
});

describe("a handler that throws an error of Limpet", () => {
  for (const code of [
    "NO_HOST",
    "MAILBOX_FULL",
    "FENCED",
    "STORE_UNAVAILABLE",
    "REMINDER_VOID",
    "REMINDER_DAMAGED",
  ] as const) {
    it(`the error ${code} of a handler counts as an attempt, and attempts come to an end`, async () => {
      const store = new Between();
      await using app = await open(store);
      Diary.handle = () => {
        throw new LimpetError(code, "as requested");
      };
      await app.reminders.set(Diary, "a", "tea", { due: "1s", onFailure: { attempts: 3, pause: "1s" } });
      await app.advance("1h");
      assert.deepEqual(Diary.seen, ["tea 1.1", "tea 1.2", "tea 1.3"]);
      const [dead] = await store.reminders.listDead({ namespace: "default", limit: 9 });
      assert.deepEqual([dead?.tick.number, dead?.tick.attempt], [1, 3]);
      assert.equal(dead?.error, `LimpetError: ${code}: as requested`);
    });
  }

  it("an error of Limpet counts as a failed attempt in a job as well", async () => {
    await using app = await open(new Between());
    let runs = 0;
    await app.jobs.set("report", { due: "1s", onFailure: { attempts: 2, pause: "1s" } }, () => {
      runs++;
      throw new LimpetError("NO_HOST", "as requested");
    });
    await app.advance("1h");
    assert.deepEqual([runs, (await app.store.reminders.count("default", 9)).dead], [2, 1]);
  });
});

describe("a reminder whose data cannot be read", () => {
  it("a reminder with unreadable data becomes a dead letter at once, and delays no other reminder", async () => {
    const store = new Between();
    await using app = await open(store);
    await app.reminders.set(Diary, "a", "good", { due: "2s" });
    const [good] = await store.reminders.list({ namespace: "default", limit: 1 });
    const tick = { ...good!.tick, at: good!.tick.at - 1_000 };
    const content = { schedule: good!.schedule, data: "{" };
    await store.reminders.write([{ kind: "set", key: KEY, tick, content, lease: undefined, isNew: false }]);
    await app.advance("10s");
    assert.deepEqual(Diary.seen, ["good 1.1"]);
    const [dead] = await store.reminders.listDead({ namespace: "default", limit: 9 });
    assert.match(dead?.error ?? "", /^LimpetError: its data cannot be read/);
    assert.equal(dead?.tick.attempt, 1);
  });
});

describe("metrics of reminders", () => {
  it("the metrics show claimed and running reminders, and stored ones that no process has claimed", async () => {
    const store = new Between();
    await using app = await open(store);
    const gauge = (name: string) => read(app.metrics(), `limpet_reminders_${name}{namespace="default"}`);
    Diary.handle = () => new Promise((go) => app.clock.after(10_000, () => go(undefined)));
    await app.reminders.set(Diary, "a", "tea", { due: "1s" });
    await app.reminders.set(Diary, "b", "tea", { due: "4s" });
    // No host has this type.
    await app.reminders.set("Kart", "a", "tea", { due: "1s" });
    await app.advance("2s");
    assert.deepEqual([gauge("held"), gauge("running")], [2, 1]);
    // The first reader queried the store; later readers use its answer.
    await app.advance("1s");
    assert.deepEqual([gauge("overdue"), gauge("dead")], [1, 0]);
    await app.reminders.cancel("Kart", "a", "tea");
    await app.advance("1s");
    assert.equal(gauge("overdue"), 1);
    await app.advance("10s");
    assert.equal(gauge("overdue"), 1);
    await app.advance("1s");
    assert.equal(gauge("overdue"), 0);
  });
});

describe("a reminder that a turn sets", () => {
  it("a reminder that a turn sets is delivered at once when it is due now, and in time when it is due soon", async () => {
    await using app = await open(new Between());
    await app.advance("1s");
    const at = new Map<string, number>();
    Diary.handle = (_, name) => void at.set(name, app.clock.now());
    const diary = app.actor(Diary, "a");
    const began = app.clock.now();
    await diary.set("now", "0s");
    await diary.set("soon", "1500ms");
    await app.advance("5s");
    const late = (name: string, due: number) => (at.get(name) ?? Number.NaN) - began - due;
    assert.ok(late("now", 0) < 10, `${late("now", 0)} ms late`);
    assert.ok(late("soon", 1_500) >= 0 && late("soon", 1_500) < 10, `${late("soon", 1_500)} ms late`);
  });
});
