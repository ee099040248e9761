// Activities that wait in queues, for whoever runs them: workers of this process, and workers elsewhere by way of a door. Each is a row of
// the reminders table, claimed by one worker, kept while that is heard of, and settled by what it tells. Who has lost the claim can change
// nothing.
//
// That an attempt was begun is noted on the row before it begins, so that one whose worker died counts. Number and attempt of the tick only
// ever grow: a next try gets the next number.
import { LimpetError } from "../../kernel/errors.ts";
import type { ClaimedReminder, ReminderKey, Reminders, Rewriting, Settlement, Tick } from "../../ports/reminders.ts";
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
  /** It is cancelled. */
  cancel(key: ReminderKey): Promise<unknown>;
  /** As the store does, many together, and again while it does not answer. */
  settle(settlement: Settlement): Promise<boolean>;
  rewrite(rewriting: Rewriting): Promise<boolean>;
  readonly namespace: string;
  /** The store's clock. */
  now(): number;
  /** Whether the run is open still. */
  isOpen(run: RunName): Promise<boolean>;
  /** A run that is over need not hear of it. */
  tell(run: RunName, key: string, data: string): Promise<void>;
  /** Something is due at that moment, and nobody has it. */
  freed(at: number): void;
}

interface RunName {
  readonly workflowId: string;
  readonly runId: string;
}

/** One attempt that somebody has. */
export interface ClaimedActivity {
  readonly key: ReminderKey;
  readonly generation: number;
  readonly token: string;
  /** As it is stored: this attempt counts. */
  readonly tick: Tick;
  readonly activity: QueuedActivity;
  /** 1 the first time. */
  readonly attempt: number;
  /** Until then it is nobody else's, on the store's clock. */
  readonly leaseUntil: number;
}

export interface ClaimWish {
  readonly types: readonly string[];
  readonly limit: number;
  readonly token: string;
  /** How long each is kept without being heard of. */
  leaseOf(activity: QueuedActivity, now: number): number;
}

/** Of a row that is claimed until it is clear whether it is begun. */
const CLAIM_MS = 10_000;
/** Clocks are not quite the same, and telling takes a moment: whoever has less left asks whether it has it still. */
const MARGIN_MS = 2_000;

export class ActivityTasks {
  readonly #deps: ActivityTasksDeps;

  constructor(deps: ActivityTasksDeps) {
    this.#deps = deps;
  }

  /** `nextMs`: when there may be more, from now; undefined: that is not known. */
  async claim(wish: ClaimWish): Promise<{ readonly held: ClaimedActivity[]; readonly nextMs: number | undefined }> {
    const { store, namespace } = this.#deps;
    const { types, limit, token } = wish;
    const request = { namespace, types, limit, aheadMs: 0, leaseMs: CLAIM_MS, token };
    const { now, reminders, next } = await store.claim(request);
    const begun = await Promise.allSettled(reminders.map((row) => this.#begin(row, wish, now)));
    const held = begun
      .map((one) => (one.status === "fulfilled" ? one.value : undefined))
      .filter((one) => one !== undefined);
    // What was begun counts, whatever became of the others.
    const failed = begun.find((one) => one.status === "rejected");
    if (failed !== undefined && held.length === 0) throw failed.reason;
    // Some were over already: there may be others at once.
    const isMore = failed === undefined && held.length < reminders.length;
    return { held, nextMs: isMore ? 0 : next === undefined ? undefined : next - now };
  }

  /** Undefined: its time is over, or nobody waits for it. */
  async #begin(row: ClaimedReminder, wish: ClaimWish, now: number): Promise<ClaimedActivity | undefined> {
    const { settle } = this.#deps;
    const { generation, key } = row;
    const { token } = wish;
    const activity = readActivity(row.data);
    if (activity === undefined) {
      const error = "REMINDER_DAMAGED: what it carries cannot be read";
      await settle({ generation, token, kind: "dead", tick: row.tick, error });
      return undefined;
    }
    const problem = lateness(activity, row.tick.attempt, now);
    if (problem !== undefined) {
      await this.#tell(activity, timedOut(activity, problem));
      await settle({ generation, token, kind: "done" });
      return undefined;
    }
    const tick = { ...row.tick, due: now, attempt: row.tick.attempt + 1 };
    const leaseMs = wish.leaseOf(activity, now);
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

  /** It was handed out to nobody, or its worker stops: that was no attempt. */
  async release({ generation, token, tick }: ClaimedActivity): Promise<void> {
    const { at, number, attempt } = tick;
    const before = { at, due: at, number: number + 1, attempt: Math.max(attempt - 1, 0) };
    const settlement = { generation, token, kind: "next", tick: before, leaseMs: undefined } as const;
    if (await this.#deps.settle(settlement)) this.#deps.freed(at);
  }

  /** Throws LEASE_LOST when somebody else may have it, or nobody waits for it. */
  async complete(held: ClaimedActivity, result: Wire): Promise<void> {
    const { n } = held.activity;
    await this.#end(held, { kind: "ActivityCompleted", of: n, result });
  }

  /** It is tried again, after a pause, or its run is told. True: it is tried again. Throws LEASE_LOST. */
  async fail(held: ClaimedActivity, failure: ActivityFailure): Promise<boolean> {
    const { generation, token, tick, activity, attempt } = held;
    const now = this.#deps.now();
    const after = afterFailure(activity, attempt, failure, now);
    if ("news" in after) {
      await this.#end(held, after.news);
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

  /** What it says of itself is there for the next attempt. It stays with its worker. Throws LEASE_LOST. */
  async note(held: ClaimedActivity, details: Wire, leaseMs: number): Promise<ClaimedActivity> {
    const { generation, token, tick } = held;
    const activity = { ...held.activity, heartbeat: details };
    const rewriting = { generation, token, tick, leaseMs, data: writeActivity(activity) };
    const now = this.#deps.now();
    if (!(await this.#deps.rewrite(rewriting))) throw lost();
    return { ...held, activity, leaseUntil: now + leaseMs };
  }

  async #end(held: ClaimedActivity, news: ExternalEvent): Promise<void> {
    const { store, settle } = this.#deps;
    const { generation, token, activity, leaseUntil } = held;
    const isSure = this.#deps.now() < leaseUntil - MARGIN_MS;
    if (!isSure && (await store.renew([{ generation, token }], CLAIM_MS)).length > 0) throw lost();
    await this.#tell(activity, news);
    // If this gets lost, the run itself takes the row away when it has heard of it.
    await settle({ generation, token, kind: "done" });
  }

  async #tell(activity: QueuedActivity, news: ExternalEvent): Promise<void> {
    await this.#deps.tell(activity, `activity ${activity.n}`, writeMessage(news));
  }

  /** The limits of one that has such, whether or not there are workers for it. When to look again; undefined: never. */
  async lookAfter({ workflowId, runId, n, type }: ActivityWatch): Promise<number | undefined> {
    const { store, namespace } = this.#deps;
    const key = { namespace, type, id: runId, name: String(n) };
    const row = await store.get(key);
    const activity = row && readActivity(row.data);
    if (activity === undefined || !(await this.#deps.isOpen({ workflowId, runId }))) return undefined;
    const look = lookAt(activity, row!, this.#deps.now());
    if ("again" in look) return look.again;
    await this.#tell(activity, timedOut(activity, look.problem));
    await this.#deps.cancel(key);
    return undefined;
  }
}

export const lost = (): LimpetError =>
  new LimpetError("LEASE_LOST", "somebody else may have the activity, or nobody waits for it");
