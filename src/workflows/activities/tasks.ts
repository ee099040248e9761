// Claims queued activities for the workers of this process and for remote workers. Each activity is a row of
// the reminders table. One worker claims it, keeps it by heartbeats, and settles it with its outcome. A
// worker that lost the claim cannot change the row.
//
// The row records the start of an attempt before it begins, so an attempt counts also when its worker dies.
// Number and attempt of the tick only grow: each retry gets the next number.
import { LimpetError } from "../../kernel/errors.ts";
import type {
  ClaimedReminder,
  ReminderKey,
  Reminders,
  Rewriting,
  Settlement,
  Tick,
} from "../../ports/store/reminders.ts";
import {
  type ActivityWatch,
  type QueuedActivity,
  readActivity,
  writeActivity,
  writeMessage,
} from "../definition/messages.ts";
import type { ExternalEvent, Wire } from "../engine/events.ts";
import type { ActivityFailure } from "./failure.ts";
import { afterFailure, lateness, lookAt, timedOut } from "./limits.ts";

export interface ActivityTasksDeps {
  readonly store: Pick<Reminders, "claim" | "renew" | "get">;
  /** Deletes the row of the activity. */
  cancel(key: ReminderKey): Promise<unknown>;
  /** As in the store, batched, and retried while the store does not answer. */
  settle(settlement: Settlement): Promise<boolean>;
  rewrite(rewriting: Rewriting): Promise<boolean>;
  readonly namespace: string;
  /** The store's clock. */
  now(): number;
  /** Whether the run is still open. */
  isOpen(run: RunName): Promise<boolean>;
  /** Delivers to the inbox of the run; a closed run ignores it. */
  report(run: RunName, key: string, data: string): Promise<void>;
  /** An activity without a lease is due at that moment. */
  freed(at: number): void;
}

interface RunName {
  readonly workflowId: string;
  readonly runId: string;
}

/** One claimed attempt. */
export interface ClaimedActivity {
  readonly key: ReminderKey;
  readonly generation: number;
  readonly token: string;
  /** As stored, with this attempt counted. */
  readonly tick: Tick;
  readonly activity: QueuedActivity;
  /** 1 the first time. */
  readonly attempt: number;
  /** End of the lease, on the store's clock. */
  readonly leaseUntil: number;
}

export interface ActivityClaim {
  readonly types: readonly string[];
  readonly limit: number;
  readonly token: string;
  /** The lease of each activity, which a heartbeat renews. */
  leaseOf(activity: QueuedActivity, now: number): number;
}

/** The lease of a claimed row until its attempt begins or is dropped. */
const CLAIM_MS = 10_000;
/**
 * Covers clock differences and the time of a request. A worker with less time left renews its lease before it
 * reports.
 */
const MARGIN_MS = 2_000;

export class ActivityTasks {
  readonly #deps: ActivityTasksDeps;

  constructor(deps: ActivityTasksDeps) {
    this.#deps = deps;
  }

  /** `nextMs`: the time until more activities may be due; undefined: unknown. */
  async claim(
    request: ActivityClaim,
  ): Promise<{ readonly claimed: ClaimedActivity[]; readonly nextMs: number | undefined }> {
    const { store, namespace } = this.#deps;
    const { types, limit, token } = request;
    const due = { namespace, types, limit, aheadMs: 0, leaseMs: CLAIM_MS, token };
    const { now, reminders, next } = await store.claim(due);
    const begun = await Promise.allSettled(reminders.map((row) => this.#begin(row, request, now)));
    const claimed = begun
      .map((one) => (one.status === "fulfilled" ? one.value : undefined))
      .filter((one) => one !== undefined);
    // Attempts that began count, even if others of the same claim failed.
    const failed = begun.find((one) => one.status === "rejected");
    if (failed !== undefined && claimed.length === 0) throw failed.reason;
    // Some rows were dropped, so others may be claimable at once.
    const isMore = failed === undefined && claimed.length < reminders.length;
    return { claimed, nextMs: isMore ? 0 : next === undefined ? undefined : next - now };
  }

  /** Undefined: the time limit is exceeded, or the run is closed. */
  async #begin(row: ClaimedReminder, request: ActivityClaim, now: number): Promise<ClaimedActivity | undefined> {
    const { settle } = this.#deps;
    const { generation, key } = row;
    const { token } = request;
    const activity = readActivity(row.data);
    if (activity === undefined) {
      const error = "REMINDER_DAMAGED: what it carries cannot be read";
      await settle({ generation, token, kind: "dead", tick: row.tick, error });
      return undefined;
    }
    const problem = lateness(activity, row.tick.attempt, now);
    if (problem !== undefined) {
      await this.#report(activity, timedOut(activity, problem));
      await settle({ generation, token, kind: "done" });
      return undefined;
    }
    const tick = { ...row.tick, due: now, attempt: row.tick.attempt + 1 };
    const leaseMs = request.leaseOf(activity, now);
    const [isOpen, isMine] = await Promise.all([
      this.#deps.isOpen(activity),
      settle({ generation, token, kind: "next", tick, leaseMs }),
    ]);
    if (!isMine) return undefined;
    if (!isOpen) {
      await settle({ generation, token, kind: "done" });
      return undefined;
    }
    const attempt = activity.attempts + tick.attempt;
    return { key, generation, token, tick, activity, attempt, leaseUntil: now + leaseMs };
  }

  /**
   * Returns a claimed activity that did not run, or that its stopping worker gives up. The attempt does not
   * count.
   */
  async release({ generation, token, tick }: ClaimedActivity): Promise<void> {
    const { at, number, attempt } = tick;
    const before = { at, due: at, number: number + 1, attempt: Math.max(attempt - 1, 0) };
    const settlement = { generation, token, kind: "next", tick: before, leaseMs: undefined } as const;
    if (await this.#deps.settle(settlement)) this.#deps.freed(at);
  }

  /** Throws LEASE_LOST when another worker may have the activity, or its run is closed. */
  async complete(claimed: ClaimedActivity, result: Wire): Promise<void> {
    const { n } = claimed.activity;
    await this.#end(claimed, { kind: "ActivityCompleted", of: n, result });
  }

  /**
   * Schedules the next attempt after a pause, or notifies the run. True: another attempt follows. Throws
   * LEASE_LOST.
   */
  async fail(claimed: ClaimedActivity, failure: ActivityFailure): Promise<boolean> {
    const { generation, token, tick, activity, attempt } = claimed;
    const now = this.#deps.now();
    const after = afterFailure(activity, attempt, failure, now);
    if ("event" in after) {
      await this.#end(claimed, after.event);
      return false;
    }
    const at = Math.ceil(now + after.pauseMs);
    const next = { at, due: at, number: tick.number + 1, attempt: 0 };
    const data = writeActivity({ ...activity, attempts: attempt });
    const isMine = await this.#deps.rewrite({ generation, token, tick: next, leaseMs: undefined, data });
    if (!isMine) throw lost();
    this.#deps.freed(at);
    return true;
  }

  /** Stores the heartbeat details for the next attempt and keeps the lease. Throws LEASE_LOST. */
  async recordHeartbeat(claimed: ClaimedActivity, details: Wire, leaseMs: number): Promise<ClaimedActivity> {
    const { generation, token, tick } = claimed;
    const activity = { ...claimed.activity, heartbeat: details };
    const rewriting = { generation, token, tick, leaseMs, data: writeActivity(activity) };
    const now = this.#deps.now();
    if (!(await this.#deps.rewrite(rewriting))) throw lost();
    return { ...claimed, activity, leaseUntil: now + leaseMs };
  }

  async #end(claimed: ClaimedActivity, event: ExternalEvent): Promise<void> {
    const { store, settle } = this.#deps;
    const { generation, token, activity, leaseUntil } = claimed;
    const isSure = this.#deps.now() < leaseUntil - MARGIN_MS;
    if (!isSure && (await store.renew([{ generation, token }], CLAIM_MS)).length > 0) throw lost();
    await this.#report(activity, event);
    // If this write is lost, the run deletes the row when it reads the result.
    await settle({ generation, token, kind: "done" });
  }

  async #report(activity: QueuedActivity, event: ExternalEvent): Promise<void> {
    await this.#deps.report(activity, `activity ${activity.n}`, writeMessage(event));
  }

  /**
   * Checks the limits of an activity, with or without workers. Returns the moment of the next check;
   * undefined: none.
   */
  async lookAfter({ workflowId, runId, n, type }: ActivityWatch): Promise<number | undefined> {
    const { store, namespace } = this.#deps;
    const key = { namespace, type, id: runId, name: String(n) };
    const row = await store.get(key);
    const activity = row && readActivity(row.data);
    if (activity === undefined || !(await this.#deps.isOpen({ workflowId, runId }))) return undefined;
    const look = lookAt(activity, row!, this.#deps.now());
    if ("again" in look) return look.again;
    await this.#report(activity, timedOut(activity, look.problem));
    await this.#deps.cancel(key);
    return undefined;
  }
}

const lost = (): LimpetError =>
  new LimpetError("LEASE_LOST", "another worker may have the activity, or its run does not wait for it");
