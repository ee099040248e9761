// Rows of queued activities: only the holder of the claim decides their outcome.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isLimpetError } from "../../kernel/errors.ts";
import { MemoryStore } from "../../stores/memory/memory-store.ts";
import { activityType, type QueuedActivity, readMessage, writeActivity } from "../definition/messages.ts";
import { failureOf } from "./failure.ts";
import { ActivityTasks, type ClaimedActivity } from "./tasks.ts";

const ACTIVITY: QueuedActivity = {
  workflowId: "w",
  runId: "r",
  n: 1,
  name: "act",
  input: { a: 1 },
  attempts: 0,
  scheduledAt: 0,
};
const type = activityType("q", "act");
const isLost = (error: unknown): boolean => isLimpetError(error, "LEASE_LOST");

class Queue {
  now = 0;
  isOpen = true;
  readonly reported: string[] = [];
  readonly #store = new MemoryStore(() => this.now);
  readonly tasks = new ActivityTasks({
    store: this.#store.reminders,
    settle: async (one) => (await this.#store.reminders.settle([one]))[0]!,
    rewrite: async (one) => (await this.#store.reminders.rewrite([one]))[0]!,
    namespace: "default",
    now: () => this.now,
    cancel: (key) => this.#store.reminders.write([{ kind: "cancel", key }]),
    isOpen: async () => this.isOpen,
    report: async (_, __, data) => void this.reported.push(readMessage(data).message.kind),
    freed: () => {},
  });

  get reminders() {
    return this.#store.reminders;
  }

  key(n = 1) {
    return { namespace: "default", type, id: "r", name: String(n) };
  }

  async put(activity: Partial<QueuedActivity> = {}, data?: string): Promise<void> {
    const key = this.key(activity.n);
    const content = { schedule: "once", data: data ?? writeActivity({ ...ACTIVITY, ...activity }) };
    const tick = { at: this.now, due: this.now, number: 1, attempt: 0 };
    await this.reminders.write([{ kind: "set", key, tick, content, lease: undefined, isNew: false }]);
  }

  async claim(token: string, limit = 10): Promise<ClaimedActivity[]> {
    const { claimed } = await this.tasks.claim({ types: [type], limit, token, leaseOf: () => 1_000 });
    return claimed;
  }

  async stored() {
    return (await this.reminders.get(this.key()))!;
  }
}

describe("queued activities", () => {
  it("one worker holds an activity, and its attempt counts before it begins", async () => {
    const queue = new Queue();
    await queue.put();
    const [held] = await queue.claim("mine");
    assert.deepEqual([held?.attempt, held?.activity, (await queue.stored()).tick.attempt], [1, ACTIVITY, 1]);
    assert.deepEqual(await queue.claim("yours"), []);
    queue.now = 1_001;
    const [again] = await queue.claim("yours");
    assert.deepEqual([again?.attempt, again?.tick.due], [2, 1_001]);
  });

  it("a worker that gave up an activity cannot end it, and its result is dropped", async () => {
    const queue = new Queue();
    await queue.put();
    const [first] = await queue.claim("mine");
    queue.now = 1_001;
    const [second] = await queue.claim("yours");
    await assert.rejects(queue.tasks.complete(first!, 1), isLost);
    await assert.rejects(queue.tasks.fail(first!, failureOf(new Error("no"))), isLost);
    await assert.rejects(queue.tasks.recordHeartbeat(first!, "words", 1_000), isLost);
    await queue.tasks.release(first!);
    assert.deepEqual([queue.reported, (await queue.stored()).tick.attempt], [[], 2]);
    await queue.tasks.complete(second!, 1);
    assert.deepEqual(queue.reported, ["ActivityCompleted"]);
    await assert.rejects(queue.tasks.complete(second!, 1), isLost);
    assert.deepEqual(queue.reported, ["ActivityCompleted"]);
  });

  it("a cancelled activity is not restored by its worker", async () => {
    for (const act of [
      (held: ClaimedActivity, { tasks }: Queue) => tasks.recordHeartbeat(held, "words", 1_000),
      (held: ClaimedActivity, { tasks }: Queue) => tasks.fail(held, failureOf(new Error("no"))),
    ]) {
      const queue = new Queue();
      await queue.put();
      const [held] = await queue.claim("mine");
      await queue.reminders.write([{ kind: "cancel", key: queue.key() }]);
      await assert.rejects(act(held!, queue), isLost);
      assert.equal(await queue.reminders.get(queue.key()), undefined);
    }
  });

  it("a returned activity is free at once, and the attempt does not count", async () => {
    const queue = new Queue();
    await queue.put();
    for (const token of ["a", "b", "c"]) {
      const [held] = await queue.claim(token);
      assert.equal(held?.attempt, 1);
      await queue.tasks.release(held!);
    }
  });

  it("a failed activity waits for its next attempt with its heartbeat details and a higher number", async () => {
    const queue = new Queue();
    await queue.put({ options: { delays: [500, 700] } });
    let [held] = await queue.claim("a");
    held = await queue.tasks.recordHeartbeat(held!, { page: 3 }, 1_000);
    assert.equal(await queue.tasks.fail(held, failureOf(new Error("no"))), true);
    assert.deepEqual(await queue.claim("b"), []);
    queue.now = 500;
    [held] = await queue.claim("b");
    assert.deepEqual([held?.attempt, held?.activity.heartbeat], [2, { page: 3 }]);
    assert.equal(await queue.tasks.fail(held!, failureOf(new Error("no"))), true);
    queue.now = 1_200;
    [held] = await queue.claim("c");
    assert.equal(await queue.tasks.fail(held!, failureOf(new Error("no"))), false);
    assert.deepEqual(queue.reported, ["ActivityFailed"]);
    assert.equal(await queue.reminders.get(queue.key()), undefined);
  });

  it("an activity of a closed run does not begin, and its row is deleted", async () => {
    const queue = new Queue();
    await queue.put();
    queue.isOpen = false;
    assert.deepEqual(await queue.claim("mine"), []);
    assert.equal(await queue.reminders.get(queue.key()), undefined);
    assert.deepEqual(queue.reported, []);
  });

  it("an unreadable activity becomes a dead letter and does not delay others", async () => {
    const queue = new Queue();
    for (const [i, data] of ["nonsense", "null", '{"workflowId":"w"}', "[1]"].entries())
      await queue.put({ n: i + 2 }, data);
    await queue.put();
    const held = await queue.claim("mine");
    assert.deepEqual(
      held.map(({ key }) => key.name),
      ["1"],
    );
    assert.equal((await queue.reminders.listDead({ namespace: "default", limit: 10 })).length, 4);
  });
});
