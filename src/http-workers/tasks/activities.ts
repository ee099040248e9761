// Hands out activities to remote workers. The task id contains the key of the row and the token of the claim,
// so any process can serve the next request about it. A worker that lost the claim cannot change the row.
import { isLimpetError } from "../../kernel/errors.ts";
import type { Random } from "../../ports/random.ts";
import type { ReminderKey, Reminders } from "../../ports/store/reminders.ts";
import type { ActivityFailure } from "../../workflows/activities/failure.ts";
import { deadlineOf } from "../../workflows/activities/limits.ts";
import type { ActivityTasks, ClaimedActivity } from "../../workflows/activities/tasks.ts";
import { activityType, type QueuedActivity, readActivity } from "../../workflows/definition/messages.ts";
import type { Wire } from "../../workflows/engine/events.ts";
import type { PollAttempt } from "../../workflows/inbox/waiting.ts";
import { Refused } from "../refusal.ts";
import type { RemoteWorker } from "../worker.ts";

export interface RemoteActivitiesDeps {
  readonly random: Random;
  readonly store: Reminders;
  readonly tasks: ActivityTasks;
  readonly namespace: string;
  /** The longest lease without a heartbeat. */
  readonly leaseMs: number;
  /** The store's clock. */
  now(): number;
  /** The status of a closed run; undefined: the run is open. */
  endOf(run: { readonly workflowId: string; readonly runId: string }): Promise<string | undefined>;
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

/** The contents of a task id: the row, its claim and the attempt. */
interface Name {
  readonly key: ReminderKey;
  readonly workflowId: string;
  readonly queue: string;
  readonly token: string;
  readonly worker: string;
  readonly attempt: number;
}

export class RemoteActivities {
  readonly #deps: RemoteActivitiesDeps;

  constructor(deps: RemoteActivitiesDeps) {
    this.#deps = deps;
  }

  async claim(worker: RemoteWorker): Promise<PollAttempt<ActivityTask>> {
    const { tasks, random } = this.#deps;
    const { queue, activityTypes } = worker;
    const types = activityTypes.map((name) => activityType(queue, name));
    for (;;) {
      const { claimed, nextMs } = await tasks.claim({
        types,
        limit: 1,
        token: random.id(),
        leaseOf: (activity, now) => this.#leaseOf(activity, now, now),
      });
      if (claimed[0] !== undefined) return { found: this.#taskOf(claimed[0], worker) };
      // A timed-out activity may have taken the place of another one in this claim.
      if (nextMs !== 0) return { found: undefined, nextMs };
    }
  }

  #taskOf({ key, token, tick, activity, attempt }: ClaimedActivity, { id: worker, queue }: RemoteWorker): ActivityTask {
    const { workflowId } = activity;
    const id = writeName({ key, workflowId, queue, token, worker, attempt });
    const startedAt = tick.due;
    const leaseUntil = startedAt + this.#leaseOf(activity, startedAt, startedAt);
    return { id, attemptId: `${token}-${attempt}`, activity, queue, attempt, worker, leaseUntil, startedAt };
  }

  /**
   * The activity is free for other workers after this long without a heartbeat, and when its time is over.
   */
  #leaseOf(activity: QueuedActivity, startedAt: number, now: number): number {
    const { startToClose = Number.POSITIVE_INFINITY, heartbeat = Number.POSITIVE_INFINITY } = activity.options ?? {};
    const until = Math.min(startedAt + startToClose, deadlineOf(activity));
    return Math.max(Math.min(this.#deps.leaseMs, heartbeat, until - now), 0);
  }

  /** Returns an activity whose poll was aborted before the worker read the answer. */
  async giveBack({ id }: ActivityTask): Promise<void> {
    const { key, token, attempt } = readName(id);
    const row = await this.#deps.store.get(key);
    const activity = row && readActivity(row.data);
    if (row === undefined || activity === undefined) return;
    const { generation, tick } = row;
    await this.#deps.tasks.release({ key, generation, token, tick, activity, attempt, leaseUntil: 0 });
  }

  async complete(holder: ActivityHolder, result: Wire): Promise<void> {
    await this.#asHolder(holder, (held) => this.#deps.tasks.complete(held, result));
  }

  /** Schedules the next attempt after a pause, or notifies the run. True: another attempt follows. */
  async fail(holder: ActivityHolder, failure: ActivityFailure): Promise<boolean> {
    return this.#asHolder(holder, (held) => this.#deps.tasks.fail(held, failure));
  }

  /** Renews the lease and stores the details for the next attempt. */
  async heartbeat(holder: ActivityHolder, details: Wire | undefined): Promise<{ readonly leaseUntil: number }> {
    return this.#asHolder(holder, async (held) => {
      const { activity, tick } = held;
      const end = await this.#deps.endOf(activity);
      if (end !== undefined) throw over(holder.taskId, end);
      const now = this.#deps.now();
      const leaseMs = this.#leaseOf(activity, tick.due, now);
      if (details !== undefined) await this.#deps.tasks.recordHeartbeat(held, details, leaseMs);
      return { leaseUntil: now + leaseMs };
    });
  }

  async #asHolder<T>(holder: ActivityHolder, fn: (held: ClaimedActivity) => Promise<T>): Promise<T> {
    const held = await this.#held(holder);
    try {
      return await fn(held);
    } catch (error) {
      // The claim was lost in that moment.
      if (isLimpetError(error, "LEASE_LOST")) throw notLeased(holder.taskId);
      throw error;
    }
  }

  /** The lease of the worker, without renewing it. */
  async status(holder: ActivityHolder): Promise<{ readonly leaseUntil: number; readonly activity: QueuedActivity }> {
    const { activity, row } = await this.#owned(holder);
    const end = await this.#deps.endOf(activity);
    if (end !== undefined) throw over(holder.taskId, end);
    return { leaseUntil: row.leasedUntil!, activity };
  }

  /** Throws unless that worker still has that attempt. Renews its lease. */
  async #held(holder: ActivityHolder): Promise<ClaimedActivity> {
    const { store } = this.#deps;
    const { key, token, attempt, activity, row } = await this.#owned(holder);
    const { generation, tick } = row;
    const now = this.#deps.now();
    const leaseMs = this.#leaseOf(activity, tick.due, now);
    if ((await store.renew([{ generation, token }], leaseMs)).length > 0) throw notLeased(holder.taskId);
    return { key, generation, token, tick, activity, attempt, leaseUntil: now + leaseMs };
  }

  async #owned(holder: ActivityHolder) {
    const { store, namespace } = this.#deps;
    const { key, workflowId, token, worker, attempt } = readName(holder.taskId);
    const extras = { task_id: holder.taskId };
    if (holder.attemptId !== `${token}-${attempt}`) {
      throw new Refused(409, "attempt_not_found", "this is not an attempt of this task", extras);
    }
    if (holder.worker !== worker) {
      throw new Refused(409, "lease_owner_mismatch", "the task is held by another worker", extras);
    }
    const row = key.namespace === namespace ? await store.get(key) : undefined;
    const activity = row && readActivity(row.data);
    if (row === undefined || activity === undefined) {
      throw over(holder.taskId, await this.#deps.endOf({ workflowId, runId: key.id }));
    }
    const { leasedUntil } = row;
    if (leasedUntil === undefined || leasedUntil <= this.#deps.now()) {
      throw new Refused(409, "lease_expired", "the lease of the task is over", extras);
    }
    return { key, token, attempt, activity, row };
  }
}

const notLeased = (taskId: string): Refused =>
  new Refused(409, "task_not_leased", "another attempt has begun", { task_id: taskId });

/** `end`: the status of the run, if it is closed. */
function over(taskId: string, end: string | undefined): Refused {
  const message = "the activity is over, or its workflow does not wait for it";
  const extras = { task_id: taskId, run_closed_reason: end ?? null, cancel_requested: true, can_continue: false };
  return new Refused(404, "task_not_found", message, extras);
}

function writeName({ key, workflowId, queue, token, worker, attempt }: Name): string {
  const { namespace, type, id, name } = key;
  const parts = [namespace, type, id, name, workflowId, queue, token, worker, attempt];
  return Buffer.from(JSON.stringify(parts)).toString("base64url");
}

function readName(taskId: string): Name {
  try {
    const parts: unknown = JSON.parse(Buffer.from(taskId, "base64url").toString());
    if (Array.isArray(parts) && parts.length === 9 && parts.slice(0, 8).every((part) => typeof part === "string")) {
      const [namespace, type, id, name, workflowId, queue, token, worker, attempt] = parts;
      if (type.startsWith(activityType(queue, "")))
        return { key: { namespace, type, id, name }, workflowId, queue, token, worker, attempt };
    }
  } catch {
    // Not a task id.
  }
  throw new Refused(404, "task_not_found", "there is no such task", { task_id: taskId.slice(0, 200) });
}
