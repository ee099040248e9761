// The port of reminders on the event loop: each step is one request to the worker thread. Times are on the
// machine's clock, which all processes on the file share.
import type {
  Claim,
  ClaimRequest,
  DeadReminder,
  ReminderCounts,
  ReminderKey,
  ReminderLease,
  ReminderOutcome,
  ReminderQuery,
  Reminders,
  ReminderWrite,
  Rewriting,
  Settlement,
  StoredReminder,
} from "../../../ports/store/reminders.ts";
import type { WorkerLink } from "../thread/worker-link.ts";
import {
  type ClaimAnswer,
  packRewritings,
  packSettlements,
  packWrites,
  type RemindAnswer,
  unpackClaimed,
  unpackReminderOutcomes,
} from "./messages.ts";

export class SqliteReminders implements Reminders {
  readonly #link: WorkerLink;

  constructor(link: WorkerLink) {
    this.#link = link;
  }

  async write(batch: readonly ReminderWrite[]): Promise<ReminderOutcome[]> {
    return unpackReminderOutcomes(
      (await this.#link.ask({ kind: "remind", ...packWrites(batch) })) as RemindAnswer,
      batch,
    );
  }

  // Field by field, here and below: other properties of the caller's object need not be cloneable.
  async claim({ namespace, types, limit, aheadMs, leaseMs, token }: ClaimRequest): Promise<Claim> {
    const request = { namespace, types: [...new Set(types)], limit, aheadMs, leaseMs, token };
    return unpackClaimed((await this.#link.ask({ kind: "claim", request })) as ClaimAnswer, request);
  }

  async settle(batch: readonly Settlement[]): Promise<boolean[]> {
    return (await this.#link.ask({ kind: "settle", ...packSettlements(batch) })) as boolean[];
  }

  async rewrite(batch: readonly Rewriting[]): Promise<boolean[]> {
    return (await this.#link.ask({ kind: "rewrite", ...packRewritings(batch) })) as boolean[];
  }

  async renew(claims: readonly ReminderLease[], leaseMs: number): Promise<number[]> {
    const generations = claims.map(({ generation }) => generation);
    const tokens = claims.map(({ token }) => token);
    return (await this.#link.ask({ kind: "renew", generations, tokens, leaseMs })) as number[];
  }

  async get(key: ReminderKey): Promise<StoredReminder | undefined> {
    return (await this.#link.ask({ kind: "reminder", key: keyOf(key) })) as StoredReminder | undefined;
  }

  async list(query: ReminderQuery): Promise<StoredReminder[]> {
    return (await this.#link.ask({ kind: "reminders", query: queryOf(query) })) as StoredReminder[];
  }

  async listDead(query: ReminderQuery): Promise<DeadReminder[]> {
    return (await this.#link.ask({ kind: "dead", query: queryOf(query) })) as DeadReminder[];
  }

  async revive(key: ReminderKey): Promise<boolean> {
    return (await this.#link.ask({ kind: "revive", key: keyOf(key) })) as boolean;
  }

  async forget(key: ReminderKey): Promise<boolean> {
    return (await this.#link.ask({ kind: "forget", key: keyOf(key) })) as boolean;
  }

  async count(namespace: string, limit: number): Promise<ReminderCounts> {
    return (await this.#link.ask({ kind: "count", namespace, limit })) as ReminderCounts;
  }

  /** A SQLite file sends no notifications to other processes. */
  watch(): undefined {
    return undefined;
  }
}

const keyOf = ({ namespace, type, id, name }: ReminderKey): ReminderKey => ({ namespace, type, id, name });

function queryOf({ namespace, type, id, after, limit, isBrief }: ReminderQuery): ReminderQuery {
  const behind = after && { type: after.type, id: after.id, name: after.name };
  return { namespace, type, id, after: behind, limit, isBrief };
}
