import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isLimpetError } from "../../kernel/errors.ts";
import { Prng } from "../../kernel/prng.ts";
import type { Store } from "../../ports/store/store.ts";
import { manyNew, newCandidate } from "../../stores/contract/coordination-shared.contract.ts";
import { leasesOf, Place, setOf } from "../../stores/contract/reminders-shared.contract.ts";
import { actor, commitOf, keep, take, takeAll, whole } from "../../stores/contract/shared.contract.ts";
import { coordinationContract } from "../../stores/coordination.contract.ts";
import { remindersContract } from "../../stores/reminders.contract.ts";
import { storeContract } from "../../stores/store.contract.ts";
import { Timeline } from "../timeline.ts";
import { Dummy, SelfRunning } from "../world-kit.test.ts";
import { Database, type DatabaseTroubles, NO_TROUBLES } from "./database.ts";

let places = 0;

/** Another process at the same database. */
const client = (database: Database): Store => database.open(new Dummy(++places));

storeContract("virtual", async () => {
  const database = new Database(new SelfRunning(), new Prng("contract"));
  const store = client(database);
  const open = async (): Promise<Store> => client(database);
  return { store, second: open, reopen: open, dispose: () => store.close() };
});

coordinationContract("virtual", async () => {
  const database = new Database(new SelfRunning(), new Prng("contract"));
  const store = client(database);
  return {
    store,
    second: async () => client(database),
    advance: async (ms) => {
      database.offsetMs += ms;
    },
    addMany: async (count) => {
      const { coordination } = database.truth;
      const { term } = await coordination.campaign(newCandidate());
      for (const changes of manyNew(count)) await coordination.persist(term, changes);
    },
    dispose: () => store.close(),
  };
});

remindersContract("virtual", async () => {
  const database = new Database(new SelfRunning(), new Prng("contract"));
  const store = client(database);
  const open = async (): Promise<Store> => client(database);
  const advance = async (ms: number): Promise<void> => {
    database.offsetMs += ms;
  };
  return { store, second: open, reopen: open, advance, dispose: () => store.close() };
});

/** A database on virtual time, and two processes that use it. */
class Setting {
  readonly timeline = new Timeline();
  readonly database: Database;
  readonly process = new Dummy(1);
  readonly store: Store;
  readonly other: Store;

  constructor(troubles: Partial<DatabaseTroubles> = {}, seed = 1) {
    this.database = new Database(this.timeline, new Prng(seed));
    this.store = this.database.open(this.process);
    this.other = this.database.open(new Dummy(2));
    this.troubles(troubles);
  }

  troubles(troubles: Partial<DatabaseTroubles>): void {
    this.database.troubles = { ...NO_TROUBLES, ...troubles };
  }

  /** Lets time pass until the promise has settled. */
  async now<T>(asked: Promise<T>, within = 60_000): Promise<T> {
    let isOver = false;
    const over = (): void => {
      isOver = true;
    };
    asked.then(over, over);
    await this.timeline.run(this.timeline.now + within, () => isOver);
    assert.ok(isOver, "it was not answered");
    return asked;
  }

  taken(id = "ada") {
    return this.now(take(this.store, actor(id, "n")));
  }

  /** The stored value, read from the database itself. */
  async stored(id = "ada"): Promise<number | undefined> {
    return (await this.database.truth.find(actor(id, "n")))?.version;
  }
}

const unavailable = (error: unknown): boolean => isLimpetError(error, "STORE_UNAVAILABLE");
const unknown = (error: unknown): boolean => isLimpetError(error, "COMMIT_UNKNOWN");

describe("a request to the database", () => {
  test("a request to the database takes time there and back", async () => {
    const it = new Setting();
    const held = await it.taken();
    const askedAt = it.timeline.now;
    let doneAt = 0;
    it.database.watchers.push({
      done: () => {
        doneAt = it.timeline.now;
      },
    });
    await it.now(it.store.commit([commitOf(held, whole("x"))]));
    assert.ok(doneAt >= askedAt + 0.2);
    assert.ok(it.timeline.now >= doneAt + 0.2);
  });

  test("a request that fails before its effect has changed nothing, and its error shows it", async () => {
    const it = new Setting();
    const held = await it.taken();
    it.troubles({ failsBefore: 1 });
    await assert.rejects(it.now(it.store.commit([commitOf(held, whole("x"))])), unavailable);
    assert.equal(await it.stored(), 0);
  });

  test("a request whose response is lost took effect, and its client cannot know it", async () => {
    const it = new Setting();
    const held = await it.taken();
    it.troubles({ failsAfter: 1 });
    const commit = commitOf(held, whole("x"));
    await assert.rejects(it.now(it.store.commit([commit])), unknown);
    assert.equal(await it.stored(), 1);
    it.troubles({});
    assert.deepEqual(await it.now(it.store.commit([commit])), ["committed"]);
    assert.equal(await it.stored(), 1);
  });

  test("a request is rejected while the database is down, and answered when it is back", async () => {
    const it = new Setting();
    const held = await it.taken();
    it.database.goDown();
    await assert.rejects(it.now(it.store.commit([commitOf(held, whole("x"))])), unavailable);
    await assert.rejects(it.now(it.store.coordination.members()), unavailable);
    await assert.rejects(it.now(it.store.ping()), unavailable);
    it.database.comeBack();
    assert.deepEqual(await it.now(it.store.commit([commitOf(held, whole("x"))])), ["committed"]);
  });

  test("a request without a response times out", async () => {
    const it = new Setting();
    const held = await it.taken();
    const askedAt = it.timeline.now;
    it.troubles({ slow: 1, slowMs: 1e9 });
    const late = it.store.commit([commitOf(held, whole("x"))]);
    await assert.rejects(it.now(late), unknown);
    assert.ok(Math.abs(it.timeline.now - askedAt - 5_000) < 1);
  });

  test("a request may be slow", async () => {
    const it = new Setting({ slow: 1, slowMs: 1_000 });
    let longest = 0;
    for (let i = 0; i < 20; i++) {
      const askedAt = it.timeline.now;
      await it.now(it.store.ping()).catch(() => {});
      longest = Math.max(longest, it.timeline.now - askedAt);
    }
    assert.ok(longest > 500);
  });

  test("a write is rejected while the database is read-only; a read is not", async () => {
    const it = new Setting();
    const held = await it.taken();
    it.troubles({ isReadOnly: true });
    const { coordination } = it.store;
    await assert.rejects(it.now(it.store.commit([commitOf(held, whole("x"))])), unavailable);
    await assert.rejects(it.now(it.store.take([{ ...actor("bo", "n"), owner: "o" }])), unavailable);
    await assert.rejects(it.now(coordination.campaign(newCandidate())), unavailable);
    assert.equal((await it.now(it.store.find(actor("ada", "n"))))?.version, 0);
    assert.deepEqual(await it.now(coordination.members()), []);
    assert.equal(await it.stored(), 0);
  });

  test("a request skips rows that another transaction holds, and applies the rest", async () => {
    const it = new Setting();
    const keys = Array.from({ length: 200 }, (_, i) => ({ ...actor(`${i}`, "n"), owner: "o" }));
    const held = await it.now(takeAll(it.store, keys));
    it.troubles({ holds: 0.5 });
    const outcomes = await it.now(it.store.commit(held.map((one) => commitOf(one, whole("x")))));
    assert.deepEqual(new Set(outcomes), new Set(["committed", "locked"]));
    for (const [i, outcome] of outcomes.entries()) {
      assert.equal(await it.stored(`${i}`), outcome === "locked" ? 0 : 1);
    }
    const again = await it.now(it.store.take(keys));
    assert.ok(again.includes("locked"));
    assert.ok(again.some((one, i) => one !== "locked" && one.epoch > held[i]!.epoch));
  });

  test("a request of a process that has ended meanwhile takes effect without a response", async () => {
    const it = new Setting();
    const held = await it.taken();
    let answers = 0;
    it.store.commit([commitOf(held, whole("x"))]).finally(() => answers++);
    // The request has left the process.
    it.timeline.step(Number.POSITIVE_INFINITY);
    it.process.hasEnded = true;
    await it.timeline.run(10_000);
    assert.deepEqual([await it.stored(), answers], [1, 0]);
  });

  test("a request of a process that falls asleep leaves when it resumes, and is fenced by then", async () => {
    const it = new Setting();
    const held = await it.taken();
    it.database.watchers.push({
      asks: (station) => {
        if (station === it.process) it.process.isAsleep = true;
      },
    });
    const late = it.store.commit([commitOf(held, whole("late"))]);
    await it.timeline.run(3_000);
    assert.equal(await it.stored(), 0);
    const next = await it.now(take(it.other, actor("ada", "n")));
    await it.now(it.other.commit([commitOf(next, whole("other"))]));
    it.process.wake(it.timeline);
    assert.deepEqual(await it.now(late), ["fenced"]);
  });

  test("a sleeping process gets its response when it resumes", async () => {
    const it = new Setting();
    const held = await it.taken();
    const asked = it.store.commit([commitOf(held, whole("x"))]);
    it.timeline.step(Number.POSITIVE_INFINITY);
    it.process.isAsleep = true;
    await it.timeline.run(it.timeline.now + 1_000);
    assert.equal(await it.stored(), 1);
    it.process.wake(it.timeline);
    assert.deepEqual(await it.now(asked), ["committed"]);
  });
});

test("the database uses its own clock", async () => {
  const it = new Setting();
  it.database.offsetMs = 60_000;
  await it.taken();
  const found = await it.now(it.store.find(actor("ada", "n")));
  const world = it.database.truth;
  it.database.offsetMs = 0;
  await it.now(take(it.store, actor("bo", "n")));
  const later = await world.find(actor("bo", "n"));
  assert.ok(found!.takenAt - later!.takenAt > 59_000);
});

test("observers get every request and its outcome", async () => {
  const it = new Setting();
  const seen: string[] = [];
  it.database.watchers.push({
    asks: (station, question) => seen.push(`${station.place} asks ${question}`),
    taken: (station, { id }, { epoch }) => seen.push(`${station.place} took ${id} epoch ${epoch}`),
    committed: (station, _, { id }, outcome) => seen.push(`${station.place} ${outcome} ${id}`),
    campaigned: (station, _, { term, leading }) => seen.push(`${station.place} term ${term} ${leading}`),
    done: (station, question) => seen.push(`${station.place} done ${question}`),
  });
  const held = await it.taken();
  await it.now(it.other.take([{ ...actor("ada", "n"), owner: "o" }]));
  await it.now(it.store.commit([commitOf(held, whole("x"))]));
  const { term } = await it.now(it.store.coordination.campaign(newCandidate()));
  assert.deepEqual(seen, [
    ...["1 asks take", `1 took ada epoch ${held.epoch}`, "1 done take"],
    ...["2 asks take", `2 took ada epoch ${held.epoch + 1}`, "2 done take"],
    ...["1 asks commit", "1 fenced ada", "1 done commit"],
    ...["1 asks campaign", `1 term ${term} true`, "1 done campaign"],
  ]);
  assert.deepEqual(it.database.keyOf(held.ref), actor("ada", "n"));
});

describe("reminders at a virtual database", () => {
  const place = (it: Setting) => new Place(it.store, "n");
  const key = { namespace: "n", type: "Cart", id: "ada", name: "tea" };
  const set = setOf(key, { at: 1 });

  test("a reminder request that fails before its effect has changed nothing", async () => {
    const it = new Setting({ failsBefore: 1 });
    await assert.rejects(it.now(it.store.reminders.write([set])), unavailable);
    await assert.rejects(it.now(place(it).claim()), unavailable);
    assert.equal(await it.database.truth.reminders.get(key), undefined);
  });

  test("a reminder write is ambiguous when its response is lost; a claim just has no response", async () => {
    const it = new Setting({ failsAfter: 1 });
    await assert.rejects(it.now(it.store.reminders.write([set])), unknown);
    await assert.rejects(it.now(place(it).claim({ token: "mine" })), unavailable);
    const { generation, leasedUntil } = (await it.database.truth.reminders.get(key))!;
    assert.notEqual(leasedUntil, undefined);
    await assert.rejects(it.now(it.store.reminders.renew(leasesOf([generation], "mine"), 1)), unavailable);
    await assert.rejects(it.now(it.store.reminders.settle([{ kind: "done", generation, token: "mine" }])), unknown);
    assert.equal(await it.database.truth.reminders.get(key), undefined);
  });

  test("reminders can be read while the database is read-only", async () => {
    const it = new Setting();
    await it.now(it.store.reminders.write([set]));
    it.troubles({ isReadOnly: true });
    await assert.rejects(it.now(it.store.reminders.write([set])), unavailable);
    await assert.rejects(it.now(place(it).claim()), unavailable);
    await assert.rejects(it.now(it.store.reminders.settle([])), unavailable);
    await assert.rejects(it.now(it.store.reminders.revive(key)), unavailable);
    assert.notEqual(await it.now(it.store.reminders.get(key)), undefined);
    assert.equal((await it.now(it.store.reminders.count("n", 9))).overdue, 1);
  });

  test("reminders follow the clock of the database", async () => {
    const it = new Setting();
    await it.now(it.store.reminders.write([setOf(key, { at: it.database.now + 60_000 })]));
    assert.deepEqual(await it.now(place(it).names()), []);
    it.database.offsetMs = 61_000;
    assert.deepEqual(await it.now(place(it).names()), ["tea"]);
  });

  test("other processes are notified of written reminders after a while, and the writer is not", async () => {
    const it = new Setting();
    const observed: string[] = [];
    it.store.reminders.watch("n", () => observed.push("writer"));
    it.other.reminders.watch("n", () => observed.push("other"));
    it.other.reminders.watch("m", () => observed.push("elsewhere"));
    await it.database.truth.reminders.write([set]);
    const write = it.store.reminders.write([set]);
    assert.deepEqual(observed, []);
    await it.now(write);
    await it.timeline.run(it.timeline.now + 1_000);
    assert.deepEqual(observed, ["other"]);
    const held = await it.taken();
    await it.now(it.store.commit([{ ...commitOf(held, keep), reminders: [set] }]));
    await it.timeline.run(it.timeline.now + 1_000);
    assert.deepEqual(observed, ["other", "other"]);
    await it.now(it.store.reminders.write([setOf(key, { at: it.database.now + 86_400_000 })]));
    await it.now(it.store.reminders.write([setOf(key, { at: 1, lease: { token: "mine", leaseMs: 1 } })]));
    await it.other.close();
    await it.now(it.store.reminders.write([set]));
    await it.timeline.run(it.timeline.now + 1_000);
    assert.deepEqual(observed, ["other", "other"]);
  });

  test("there is no notification of written reminders when the connection is lost, or the database has none", async () => {
    const it = new Setting({ failsAfter: 1 });
    let notifications = 0;
    assert.ok(it.other.reminders.watch("n", () => notifications++) !== undefined);
    await assert.rejects(it.now(it.store.reminders.write([set])), unknown);
    await it.timeline.run(it.timeline.now + 1_000);
    assert.equal(notifications, 0);
    it.database.sendsNotifications = false;
    assert.equal(
      it.other.reminders.watch("n", () => {}),
      undefined,
    );
  });

  test("observers of the database get all reminder requests", async () => {
    const it = new Setting();
    const seen: string[] = [];
    it.database.watchers.push({
      asks: (station, question) => seen.push(`${station.place} asks ${question}`),
      reminded: (_, batch, outcomes) => seen.push(`${batch[0]?.kind} ${outcomes[0]?.kind}`),
      claimed: (_, { token }, { reminders }) => seen.push(`${token} has ${reminders.length}`),
      settled: (_, batch, counted) => seen.push(`${batch[0]?.kind} ${counted}`),
    });
    const [outcome] = await it.now(it.store.reminders.write([set]));
    assert.ok(outcome?.kind === "set");
    const { generation } = outcome;
    await it.now(place(it).claim({ token: "mine" }));
    await it.now(it.store.reminders.renew(leasesOf([generation], "mine"), 1));
    await it.now(it.store.reminders.settle([{ kind: "done", generation, token: "mine" }]));
    await it.now(it.store.reminders.get(key));
    assert.deepEqual(seen, [
      ...["1 asks remind", "set set", "1 asks claim", "mine has 1"],
      ...["1 asks renew", "1 asks settle", "done true", "1 asks read"],
    ]);
  });
});
