// Activities that workers elsewhere run: rows of the reminders table, claimed by whoever asks, kept by heartbeats, and settled by what
// they tell. A task is named by the key of its row and the token of its claim; who has lost the claim can change nothing. That an attempt
// was begun is noted on the row, so that one whose worker died counts.

import { decodeValue, encodeValue } from "../kernel/values.ts";
import type { Clock } from "../ports/clock.ts";
import type { Random } from "../ports/random.ts";
import type { ClaimedReminder, ReminderKey, Reminders, ReminderWrite, StoredReminder } from "../ports/reminders.ts";
import { pauseAfter, startToCloseOf } from "./activity-options.ts";
import type { News, Wire } from "./events.ts";
import { activityType, type QueuedActivity, writeMessage } from "./messages.ts";
import type { Dispatcher } from "./outgoing.ts";
import { toldFrom } from "./remote-commands.ts";
import { Refused } from "./remote-refusal.ts";
import type { Attempt } from "./remote-waiting.ts";
import type { RemoteWorker } from "./remote-worker.ts";

export interface ActivitiesWorld {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Reminders;
  readonly namespace: string;
  /** The longest lease without a heartbeat. */
  readonly leaseMs: number;
  now(): number;
  dispatcherOf(queue: string): Dispatcher;
  /** A run that is over need not hear of it. */
  tell(run: { readonly workflowId: string; readonly runId: string }, key: string, data: string): Promise<void>;
  /** These are durable. */
  written(writes: readonly ReminderWrite[]): void;
}

export interface ActivityTask {
  readonly id: string;
  readonly attemptId: string;
  readonly activity: QueuedActivity;
  readonly queue: string;
  readonly attempt: number;
  readonly worker: string;
  readonly leaseUntil: number;
  readonly startedAt: number;
}

export interface ActivityHolder {
  readonly taskId: string;
  readonly attemptId: string;
  readonly worker: string;
}

export interface ActivityFailure {
  readonly message: string;
  readonly type: string | undefined;
  readonly isFinal: boolean;
  readonly isTimeout: boolean;
  readonly isCancelled: boolean;
}

/** Where the row of a task is, whose claim it is, and which attempt. */
interface Name {
  readonly key: ReminderKey;
  readonly queue: string;
  readonly token: string;
  readonly worker: string;
  readonly attempt: number;
}

export class RemoteActivities {
  readonly #world: ActivitiesWorld;

  constructor(world: ActivitiesWorld) {
    this.#world = world;
  }

  async claim(worker: RemoteWorker): Promise<Attempt<ActivityTask>> {
    const { store, namespace, random, leaseMs } = this.#world;
    const { queue, activityTypes } = worker;
    const types = activityTypes.map((name) => activityType(queue, name));
    for (;;) {
      const token = random.id();
      const { now, reminders, next } = await store.claim({ namespace, types, limit: 1, aheadMs: 0, leaseMs, token });
      const row = reminders[0];
      if (row === undefined) return { found: undefined, nextMs: next === undefined ? undefined : next - now };
      const found = await this.#begin(row, token, worker, now);
      if (found !== undefined) return { found };
    }
  }

  /** Undefined: its time is over already. */
  async #begin(
    row: ClaimedReminder,
    token: string,
    worker: RemoteWorker,
    now: number,
  ): Promise<ActivityTask | undefined> {
    const activity = readActivity(row);
    const attempt = activity.attempts + row.tick.attempt + 1;
    const problem = lateness(activity, row.tick.attempt, now);
    if (problem !== undefined) {
      await this.#over(activity, timedOut(activity, problem));
      await this.#world.store.settle([{ generation: row.generation, token, kind: "done" }]);
      return undefined;
    }
    const leaseMs = this.#leaseOf(activity);
    const tick = { ...row.tick, attempt: row.tick.attempt + 1 };
    const [isMine] = await this.#world.store.settle([
      { generation: row.generation, token, kind: "next", tick, leaseMs },
    ]);
    if (isMine !== true) return undefined;
    const { queue } = worker;
    const name = { key: row.key, queue, token, worker: worker.id, attempt };
    return {
      ...{ id: writeName(name), attemptId: `${token}-${attempt}`, activity, queue, attempt, worker: worker.id },
      ...{ leaseUntil: now + leaseMs, startedAt: now },
    };
  }

  /** Without a heartbeat for so long it is somebody else's. */
  #leaseOf({ options }: QueuedActivity): number {
    const limit = options?.startToClose === undefined ? this.#world.leaseMs : startToCloseOf(options);
    return Math.min(limit, options?.heartbeat ?? Number.POSITIVE_INFINITY, this.#world.leaseMs);
  }

  /** Nobody reads the answer that it was in. */
  async giveBack({ id }: ActivityTask): Promise<void> {
    const { key, token } = readName(id);
    const row = await this.#world.store.get(key);
    if (row === undefined) return;
    const { generation, tick } = row;
    const before = { ...tick, attempt: Math.max(tick.attempt - 1, 0) };
    await this.#world.store.settle([{ generation, token, kind: "next", tick: before, leaseMs: undefined }]);
  }

  async complete(holder: ActivityHolder, result: Wire): Promise<void> {
    const { row, token, activity } = await this.#held(holder);
    await this.#over(activity, { kind: "ActivityCompleted", of: activity.n, result });
    await this.#world.store.settle([{ generation: row.generation, token, kind: "done" }]);
  }

  /** It is tried again, after a pause, or its run is told. True: it is tried again. */
  async fail(holder: ActivityHolder, failure: ActivityFailure): Promise<boolean> {
    const { row, token, queue, attempt, activity } = await this.#held(holder);
    const { store, dispatcherOf } = this.#world;
    const { message, type, isFinal } = failure;
    const pauseMs = isFinal || failure.isCancelled ? undefined : pauseAfter(activity.options, attempt, errorOf(type));
    if (pauseMs !== undefined) {
      // The row is set anew, and the claim on it is void with that.
      const again = dispatcherOf(queue).queue({ ...activity, attempts: attempt }, this.#world.now() + pauseMs);
      await store.write([again]);
      this.#world.written([again]);
      return true;
    }
    const { n } = activity;
    const error = toldFrom(message, type);
    const news: News = failure.isCancelled
      ? { kind: "ActivityCancelled", of: n, error }
      : failure.isTimeout
        ? { kind: "ActivityTimedOut", of: n, error }
        : { kind: "ActivityFailed", of: n, error, attempts: attempt };
    await this.#over(activity, news);
    await store.settle([{ generation: row.generation, token, kind: "done" }]);
    return false;
  }

  /** It is still at work. What it says of itself is there for the next attempt. */
  async heartbeat(holder: ActivityHolder, details: Wire | undefined): Promise<{ readonly leaseUntil: number }> {
    const { row, token, activity } = await this.#held(holder);
    const leaseMs = this.#leaseOf(activity);
    const { key, tick, schedule } = row;
    if (details !== undefined) {
      const data = encodeValue({ ...activity, heartbeat: details }, "details", "ARGUMENT_INVALID");
      const content = { schedule, data };
      await this.#world.store.write([{ kind: "set", key, tick, content, lease: { token, leaseMs }, isNew: false }]);
    }
    return { leaseUntil: this.#world.now() + leaseMs };
  }

  /** Its run hears of it; one that is over need not. */
  async #over(activity: QueuedActivity, news: News): Promise<void> {
    await this.#world.tell(activity, `activity ${activity.n}`, writeMessage(news));
  }

  /** Throws unless that worker has that attempt, still. Its lease is longer by that. */
  async #held(
    holder: ActivityHolder,
  ): Promise<Name & { readonly row: StoredReminder; readonly activity: QueuedActivity }> {
    const { store, namespace } = this.#world;
    const name = readName(holder.taskId);
    const { key, token } = name;
    const extras = { task_id: holder.taskId };
    if (holder.attemptId !== `${token}-${name.attempt}`) {
      throw new Refused(409, "attempt_not_found", "this is not an attempt of this task", extras);
    }
    if (holder.worker !== name.worker) {
      throw new Refused(409, "lease_owner_mismatch", "the task is held by another worker", extras);
    }
    const row = key.namespace === namespace ? await store.get(key) : undefined;
    if (row === undefined) {
      const more = { ...extras, cancel_requested: true, can_continue: false };
      throw new Refused(404, "task_not_found", "the activity is over, or its workflow does not wait for it", more);
    }
    const activity = readActivity(row);
    if (row.leasedUntil === undefined || row.leasedUntil <= this.#world.now()) {
      throw new Refused(409, "lease_expired", "the lease of the task is over", extras);
    }
    const lost = await store.renew([row.generation], token, this.#leaseOf(activity));
    if (lost.length > 0) throw new Refused(409, "task_not_leased", "another attempt has begun", extras);
    return { ...name, row, activity };
  }
}

const readActivity = ({ data }: { readonly data: string | undefined }): QueuedActivity =>
  // What it carries is in its JSON-ready form inside, and stays so.
  decodeValue(data ?? "null") as QueuedActivity;

/** What is wrong with beginning it now; `begun`: attempts that were begun and not heard of again. */
function lateness(
  { options, scheduledAt, attempts, name }: QueuedActivity,
  begun: number,
  now: number,
): string | undefined {
  const { scheduleToStart, scheduleToClose, attempts: most } = options ?? {};
  if (scheduleToClose !== undefined && now - scheduledAt > scheduleToClose) return `${name} was not done in time`;
  if (scheduleToStart !== undefined && begun === 0 && attempts === 0 && now - scheduledAt > scheduleToStart) {
    return `${name} was not begun in time`;
  }
  if (begun > 0 && most !== undefined && attempts + begun >= most) return `${name} was not heard of again`;
  return undefined;
}

const timedOut = ({ n }: QueuedActivity, problem: string): News => ({
  kind: "ActivityTimedOut",
  of: n,
  error: toldFrom(problem, "ActivityTimedOut"),
});

const errorOf = (type: string | undefined): { name?: string } => (type === undefined ? {} : { name: type });

function writeName({ key, queue, token, worker, attempt }: Name): string {
  const { namespace, type, id, name } = key;
  return Buffer.from(JSON.stringify([namespace, type, id, name, queue, token, worker, attempt])).toString("base64url");
}

function readName(taskId: string): Name {
  try {
    const parts: unknown = JSON.parse(Buffer.from(taskId, "base64url").toString());
    if (Array.isArray(parts) && parts.length === 8 && parts.slice(0, 7).every((part) => typeof part === "string")) {
      const [namespace, type, id, name, queue, token, worker, attempt] = parts;
      if (type.startsWith(activityType(queue, "")))
        return { key: { namespace, type, id, name }, queue, token, worker, attempt };
    }
  } catch {
    // Whatever it is, it is no task.
  }
  throw new Refused(404, "task_not_found", "there is no such task", { task_id: taskId.slice(0, 200) });
}
