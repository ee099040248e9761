import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isLimpetError } from "../../kernel/errors.ts";
import { Prng } from "../../kernel/prng.ts";
import type { Store } from "../../ports/store/store.ts";
import { setOf } from "../../stores/contract/reminders-shared.contract.ts";
import { actor, commitOf, keep, take } from "../../stores/contract/shared.contract.ts";
import { batchOf, closeAs, lease, Site } from "../../stores/contract/workflows-shared.contract.ts";
import { workflowsContract } from "../../stores/workflows.contract.ts";
import { Timeline } from "../timeline.ts";
import { Dummy, SelfRunning } from "../world-kit.test.ts";
import { Database, type DatabaseTroubles, NO_TROUBLES } from "./database.ts";

let places = 0;

workflowsContract("virtual", async () => {
  const database = new Database(new SelfRunning(), new Prng("contract"));
  const open = async (): Promise<Store> => database.open(new Dummy(++places));
  const store = await open();
  const advance = async (ms: number): Promise<void> => {
    database.offsetMs += ms;
  };
  return { store, second: open, reopen: open, advance, dispose: () => store.close() };
});

/** A database on virtual time, two processes that use it, and the data as the database itself sees it. */
class Setting {
  readonly timeline = new Timeline();
  readonly database = new Database(this.timeline, new Prng(1));
  readonly it = new Site(this.database.open(new Dummy(1)), "n");
  readonly other = new Site(this.database.open(new Dummy(2)), "n");
  readonly truth = new Site(this.database.truth, "n");

  troubles(troubles: Partial<DatabaseTroubles>): void {
    this.database.troubles = { ...NO_TROUBLES, ...troubles };
  }

  /** Lets time pass until the promise has settled. */
  async now<T>(asked: Promise<T>): Promise<T> {
    let isOver = false;
    const over = (): void => {
      isOver = true;
    };
    asked.then(over, over);
    await this.timeline.run(this.timeline.now + 60_000, () => isOver);
    assert.ok(isOver, "it was not answered");
    return asked;
  }

  async pass(ms: number): Promise<void> {
    await this.timeline.run(this.timeline.now + ms);
  }
}

const unavailable = (error: unknown): boolean => isLimpetError(error, "STORE_UNAVAILABLE");
const unknown = (error: unknown): boolean => isLimpetError(error, "COMMIT_UNKNOWN");

describe("workflows at a virtual database", () => {
  test("a workflow request that fails before its effect has changed nothing, and its error shows it", async () => {
    const setting = new Setting();
    const { it, truth } = setting;
    setting.troubles({ failsBefore: 1 });
    await assert.rejects(setting.now(it.start("a")), unavailable);
    assert.equal(await truth.status("a"), undefined);
  });

  test("a workflow write without a response is ambiguous, and takes effect once when it is repeated", async () => {
    const setting = new Setting();
    const { it, truth } = setting;
    const own = lease();
    const start = it.startOf("a", { lease: own });
    setting.troubles({ failsAfter: 1 });
    await assert.rejects(setting.now(it.send(start)), unknown);
    const { ref } = await truth.stored("a");
    const step = it.completionOf({ ref, token: own.token, last: 1, taken: 0 }, { batch: batchOf("2") });
    await assert.rejects(setting.now(it.step(step)), unknown);
    await assert.rejects(setting.now(it.deliver("a", "k")), unknown);
    await assert.rejects(setting.now(it.workflows.giveBack([])), unknown);
    await assert.rejects(setting.now(it.claim({ types: [] })), unavailable);
    await assert.rejects(setting.now(it.workflows.renew([], 1)), unavailable);
    setting.troubles({});
    assert.deepEqual(await setting.now(it.send(start)), { ref, runId: start.runId, status: "running", isNew: true });
    assert.equal((await setting.now(it.step(step))).kind, "done");
    assert.deepEqual(await setting.now(it.deliver("a", "k")), {
      kind: "delivered",
      ref,
      runId: start.runId,
      number: 1,
    });
    assert.deepEqual([await truth.events(ref), await truth.inbox(ref)], [["started", "2"], [[1, "k"]]]);
    setting.troubles({ failsAfter: 1 });
    await assert.rejects(setting.now(it.workflows.close(it.closing("a"))), unknown);
    assert.equal(await truth.status("a"), "terminated");
  });

  test("workflows can be read and not written while the disk is full", async () => {
    const setting = new Setting();
    const { it, truth } = setting;
    const { ref } = await truth.start("a");
    setting.troubles({ isReadOnly: true });
    const writes: (() => Promise<unknown>)[] = [
      () => it.start("b"),
      () => it.deliver("a"),
      () => it.complete({ ref, token: "t", last: 1, taken: 0 }),
      () => it.workflows.close(it.closing("a")),
      () => it.claim(),
      () => it.workflows.renew([], 1),
      () => it.workflows.giveBack([]),
      () => it.workflows.wake(it.key("a")),
      () => it.workflows.watchEnds([ref]),
      () => it.seen("w1"),
      () => it.workflows.forgetWorker("n", "w1"),
      () => it.workflows.releaseWorker("n", "w1", false),
      () => it.workflows.prune("n", 1, 1),
    ];
    for (const write of writes) await assert.rejects(setting.now(write()), unavailable);
    assert.equal((await setting.now(it.stored("a"))).ref, ref);
    assert.deepEqual(await setting.now(it.events(ref)), ["started"]);
    assert.equal(await setting.now(it.workflows.count({ namespace: "n", limit: 9 })), 1);
    assert.deepEqual(await setting.now(it.inbox(ref)), []);
    assert.deepEqual(await setting.now(it.workflows.workers("n")), []);
    assert.deepEqual(await setting.now(it.workflows.stickiness("n")), { runs: 0, ready: 0, leased: 0, owned: 0 });
  });

  test("other processes are notified of ready tasks a little later, and the writer is not", async () => {
    const setting = new Setting();
    const { it, other } = setting;
    const notified: string[] = [];
    it.workflows.watch("n", () => notified.push("itself"));
    other.workflows.watch("n", () => notified.push("other"));
    other.workflows.watch("m", () => notified.push("elsewhere"));
    await setting.now(it.start("a"));
    await setting.pass(100);
    assert.deepEqual(notified.splice(0), ["other"]);
    const held = await setting.now(it.leased("b"));
    await setting.now(it.complete(held, { outcome: closeAs() }));
    await setting.now(it.claim());
    await setting.pass(100);
    assert.deepEqual(notified, []);
    const alice = await setting.now(take(it.store, actor("alice", "n")));
    await setting.now(it.store.commit([{ ...commitOf(alice, keep), starts: [it.startOf("c")] }]));
    await setting.pass(100);
    assert.deepEqual(notified.splice(0), ["other"]);
    await setting.now(other.store.close());
    await setting.now(it.start("d"));
    await setting.pass(100);
    assert.deepEqual(notified, []);
  });

  test("reminders that come with a start or a step cause the same notifications as all others", async () => {
    const setting = new Setting();
    const { it, other } = setting;
    let notified = 0;
    other.store.reminders.watch("n", () => notified++);
    const held = await setting.now(it.leased("a", { reminders: [setOf(it.place.key("one"))] }));
    await setting.pass(100);
    assert.equal(notified, 1);
    const starts = [it.startOf("b", { reminders: [setOf(it.place.key("two"))] })];
    await setting.now(it.complete(held, { reminders: [setOf(it.place.key("three"))], starts }));
    await setting.pass(100);
    assert.equal(notified, 2);
    await setting.now(it.complete(held, { batch: batchOf("late"), reminders: [setOf(it.place.key("never"))] }));
    await setting.pass(100);
    assert.equal(notified, 2);
  });

  test("a database without notifications declares it", () => {
    const { database, it } = new Setting();
    database.sendsNotifications = false;
    assert.equal(
      it.workflows.watch("n", () => {}),
      undefined,
    );
  });

  test("observers of the database see every workflow request and its process", async () => {
    const setting = new Setting();
    const { it } = setting;
    const seen: string[] = [];
    setting.database.watchers.push({
      started: (_, batch, outcomes) => seen.push(`${batch[0]?.workflowId} is new: ${outcomes[0]?.isNew}`),
      delivered: ({ number }, batch, outcomes) => seen.push(`${batch[0]?.key} from ${number}: ${outcomes[0]?.kind}`),
      polled: (_, { lease: { worker } }, { tasks }) => seen.push(`${worker} has ${tasks.length}`),
      completed: (_, batch, outcomes) => seen.push(`${batch[0]?.batch?.data}: ${outcomes[0]?.kind}`),
      gaveBack: (_, batch, counted) => seen.push(`${batch[0]?.problem}: ${counted[0]}`),
      ended: (_, { status }, isDone) => seen.push(`${status}: ${isDone}`),
    });
    await setting.now(it.start("a"));
    await setting.now(it.deliver("a", "k"));
    const task = await setting.now(setting.it.theTask());
    const held = { ref: task.ref, token: task.token, last: 1, taken: 1 };
    await setting.now(it.complete(held, { batch: batchOf("2"), outcome: { kind: "keep", leaseMs: 1_000 } }));
    await setting.now(it.workflows.giveBack([{ ...held, pauseMs: 0, problem: "broken" }]));
    await setting.now(it.workflows.close(it.closing("a")));
    const expected = [
      "a is new: true",
      "k from 1: delivered",
      "w1 has 1",
      "2: done",
      "broken: true",
      "terminated: true",
    ];
    assert.deepEqual(seen, expected);
  });
});
