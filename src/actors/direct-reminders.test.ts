// Reminders due soon, set by a turn with state: they are stored with a lease of their process, which delivers
// them itself.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor, isLimpetError, LimpetError } from "../index.ts";
import type { Commit, CommitOutcome } from "../ports/store/store.ts";
import { MemoryStore, type TestApp, testLimpet } from "../testing.ts";
import { BEGINNING } from "../world/local-clock.ts";

/** Clock of the app that was opened last. */
let clock: TestApp["clock"] | undefined;

/** Counts claimed reminders, and lets a test act between a commit and the store. */
class Counting extends MemoryStore {
  claimed = 0;
  before: (() => unknown) | undefined;
  after: (() => unknown) | undefined;
  readonly commits: Commit[] = [];

  constructor() {
    super(() => clock?.now() ?? BEGINNING);
    const claim = this.reminders.claim.bind(this.reminders);
    this.reminders.claim = async (request) => {
      const answer = await claim(request);
      this.claimed += answer.reminders.length;
      return answer;
    };
  }

  override async commit(batch: readonly Commit[]): Promise<CommitOutcome[]> {
    await this.before?.();
    const outcomes = await super.commit(batch);
    this.commits.push(...batch);
    await this.after?.();
    return outcomes;
  }
}

class Clerk extends Actor<{ seen: string[] }> {
  static seen: string[] = [];
  initial() {
    return { seen: [] as string[] };
  }
  async set(due: string, ...names: string[]) {
    for (const name of names) await this.reminders.set(name, { due });
  }
  async cancel(name: string) {
    await this.reminders.cancel(name);
  }
  override onReminder(name: string) {
    Clerk.seen.push(name);
    this.state.seen.push(name);
  }
}

async function open(store: MemoryStore, settings: Partial<typeof USUAL> & { direct?: boolean } = {}): Promise<TestApp> {
  Clerk.seen = [];
  clock = undefined;
  const app = await testLimpet({ actors: [Clerk], stateStore: store, reminders: { ...USUAL, ...settings } });
  clock = app.clock;
  return app;
}

const USUAL = { fetchAhead: "5s", lease: "30s", pollInterval: "5s", batchSize: 500 };
const keyOf = (name: string) => ({ namespace: "default", type: "Clerk", id: "a", name });
const leaseOf = async (store: MemoryStore, name: string) =>
  (await store.reminders.get(keyOf(name)))?.leasedUntil !== undefined;
const leased = ({ reminders = [] }: Commit) => reminders.map((one) => one.kind === "set" && one.lease !== undefined);

describe("a reminder set by a turn with state and due soon", () => {
  it("a reminder due soon is delivered by its process without a claim", async () => {
    const store = new Counting();
    await using app = await open(store);
    await app.actor(Clerk, "a").set("0s", "now");
    await app.actor(Clerk, "a").set("2s", "soon");
    assert.equal(await leaseOf(store, "soon"), true);
    await app.advance("10s");
    assert.deepEqual([Clerk.seen, store.claimed], [["now", "soon"], 0]);
    assert.deepEqual(await store.reminders.count("default", 9), { all: 0, overdue: 0, dead: 0 });
  });

  it("a reminder due soon is leased, and one due later is not", async () => {
    const store = new Counting();
    await using app = await open(store);
    await app.actor(Clerk, "a").set("1h", "late");
    await app.actor(Clerk, "a").set("2s", "soon");
    assert.deepEqual(store.commits.map(leased), [[false], [true]]);
    await app.advance("1h");
    assert.deepEqual([Clerk.seen, store.claimed], [["soon", "late"], 1]);
  });

  it("a reminder due soon is delivered without a lease when leases are switched off", async () => {
    const store = new Counting();
    await using app = await open(store, { direct: false });
    await app.actor(Clerk, "a").set("2s", "tea");
    assert.deepEqual(store.commits.map(leased), [[false]]);
    await app.advance("10s");
    assert.deepEqual([Clerk.seen, store.claimed], [["tea"], 1]);
  });

  it("a reminder due soon may be cancelled or replaced by a later turn", async () => {
    const store = new Counting();
    await using app = await open(store);
    const clerk = app.actor(Clerk, "a");
    await clerk.set("2s", "cancelled", "moved");
    await clerk.cancel("cancelled");
    await clerk.set("4s", "moved");
    await app.advance("3s");
    assert.deepEqual(Clerk.seen, []);
    await app.advance("2s");
    assert.deepEqual(Clerk.seen, ["moved"]);
  });

  it("the reminders of a fenced turn are dropped, and their reserved capacity is free again", async () => {
    const store = new Counting();
    // Capacity for four reminders.
    await using app = await open(store, { batchSize: 1 });
    const clerk = app.actor(Clerk, "a");
    for (let round = 0; round < 5; round++) {
      // A fenced host takes the actor again after a moment.
      const taken = clerk.cancel("nothing");
      await app.advance("1s");
      await taken;
      store.before = () => store.take([{ namespace: "default", type: "Clerk", id: "a", owner: "another" }]);
      await assert.rejects(clerk.set("2s", "one", "two"), (error) => isLimpetError(error, "FENCED"));
      store.before = undefined;
    }
    assert.deepEqual(await store.reminders.count("default", 9), { all: 0, overdue: 0, dead: 0 });
    const call = clerk.set("2s", "tea", "coffee");
    await app.advance("1s");
    await call;
    assert.deepEqual(leased(store.commits.at(-1)!), [true, true]);
    await app.advance("10s");
    assert.deepEqual([Clerk.seen, store.claimed], [["tea", "coffee"], 0]);
  });

  it("the reminders of a rejected commit are dropped, and their reserved capacity is free again", async () => {
    const store = new Counting();
    await using app = await open(store, { batchSize: 1 });
    const clerk = app.actor(Clerk, "a");
    for (let round = 0; round < 5; round++) {
      store.before = () => {
        throw new LimpetError("STORE_UNAVAILABLE", "it is away");
      };
      const call = clerk.set("2s", "one", "two");
      call.catch(() => {});
      await app.advance("1m");
      await assert.rejects(call, (error) => isLimpetError(error, "STORE_UNAVAILABLE"));
      store.before = undefined;
    }
    await clerk.set("2s", "tea", "coffee");
    assert.deepEqual(leased(store.commits.at(-1)!), [true, true]);
    await app.advance("10s");
    assert.deepEqual([Clerk.seen, store.claimed], [["tea", "coffee"], 0]);
  });

  it("a reminder whose commit lost its answer is looked up, and delivered once before its lease ends", async () => {
    const store = new Counting();
    await using app = await open(store);
    let attempts = 0;
    store.after = () => {
      if (++attempts === 1) throw new LimpetError("COMMIT_UNKNOWN", "no answer");
    };
    const call = app.actor(Clerk, "a").set("2s", "tea");
    await app.advance("1s");
    await call;
    await app.advance("4s");
    assert.deepEqual([attempts > 1, Clerk.seen, store.claimed], [true, ["tea"], 0]);
    await app.advance("1m");
    assert.deepEqual(Clerk.seen, ["tea"]);
  });

  it("a reminder of an ambiguous commit is looked up", async () => {
    const store = new Counting();
    await using app = await open(store);
    let isLost = true;
    store.after = () => {
      if (isLost) throw new LimpetError("COMMIT_UNKNOWN", "no answer");
    };
    const call = app.actor(Clerk, "a").set("2s", "tea");
    let isRejected = false;
    call.catch(() => {
      isRejected = true;
      isLost = false;
    });
    for (let s = 0; s < 25 && !isRejected; s++) await app.advance("1s");
    await assert.rejects(call, (error) => isLimpetError(error, "COMMIT_UNKNOWN"));
    await app.advance("3s");
    assert.deepEqual([Clerk.seen, store.claimed], [["tea"], 0]);
  });

  it("a stopping process releases its reminders, so that others can claim them at once", async () => {
    const store = new Counting();
    const app = await open(store);
    await app.actor(Clerk, "a").set("4s", "tea");
    assert.equal(await leaseOf(store, "tea"), true);
    await app.stop();
    assert.equal((await store.reminders.get(keyOf("tea")))?.leasedUntil, undefined);
  });
});
