// The store of reminders: one row each, shared by all processes. Schedules are opaque text here; the
// reminders module interprets them. One contract suite (stores/contract/) covers every store.
//
// - A row has a *generation*, new whenever it is set: a lease on an earlier generation is void.
// - A *claim* leases rows that are due soon to a process, in one atomic step, on the store's own clock. While
//   the lease lasts no other process gets them. Every later request for a claimed row names its generation
//   and the *token* of the claim, and counts only while both match the row.
// - Rows of types that no process claims stay unchanged.
import { LIMITS } from "../../kernel/limits.ts";
import type { ActorKey } from "../../kernel/names.ts";

/** Watchers are notified of rows that are due within this time; later ones are found by polling. */
export const NOTIFY_AHEAD_MS = 60_000;

/** The key of an actor's reminder. Jobs, which have no actor, have their own types. */
export interface ReminderKey extends ActorKey {
  readonly name: string;
}

/** A lease on a row. A token belongs to one claim, or to one row that is written with a lease. */
export interface ReminderLease {
  readonly generation: number;
  readonly token: string;
}

/** The next tick of a reminder. Times are milliseconds since 1970, on the store's clock. */
export interface Tick {
  /** The time of its delivery, or of its retry. Claims use it. */
  readonly at: number;
  /** The scheduled time on its grid; earlier than `at` after a failure. */
  readonly due: number;
  /** Its number on the grid, from 1. */
  readonly number: number;
  /** Number of attempts so far. */
  readonly attempt: number;
}

export interface ReminderContent {
  /** Encoded; only the reminders module interprets it. */
  readonly schedule: string;
  readonly data: string | undefined;
}

/** A lease that a row has from the start: the process that sets it delivers it. */
export interface OwnLease {
  readonly token: string;
  readonly leaseMs: number;
}

export type ReminderWrite =
  /** Replaces a reminder of the same key, and voids every lease on it. `isNew`: only if there is none. */
  | {
      readonly kind: "set";
      readonly key: ReminderKey;
      readonly tick: Tick;
      readonly content: ReminderContent;
      readonly lease: OwnLease | undefined;
      readonly isNew: boolean;
    }
  | { readonly kind: "cancel"; readonly key: ReminderKey };

/** The process that sets one of these needs its generation to deliver it. */
export const bringsLease = (writes: readonly ReminderWrite[]): boolean =>
  writes.some((write) => write.kind === "set" && write.lease !== undefined);

export type ReminderOutcome =
  | { readonly kind: "set"; readonly generation: number }
  /** It exists, and was to be new. */
  | { readonly kind: "exists" }
  | { readonly kind: "cancelled"; readonly existed: boolean };

export interface ClaimRequest {
  readonly namespace: string;
  readonly types: readonly string[];
  readonly limit: number;
  /** Rows whose `at` is within this from now. */
  readonly aheadMs: number;
  readonly leaseMs: number;
  readonly token: string;
}

export interface ClaimedReminder extends ReminderContent {
  readonly generation: number;
  readonly key: ReminderKey;
  readonly tick: Tick;
}

export interface Claim {
  /** The store's clock at the claim. */
  readonly now: number;
  /** Earliest first. */
  readonly reminders: readonly ClaimedReminder[];
  /**
   * The time at which the next other row of these types is due, or its lease ends; undefined: there is none.
   */
  readonly next: number | undefined;
}

/** The outcome of a claimed row. */
export type TickOutcome =
  /** It was the last tick. */
  | { readonly kind: "done" }
  /** The next tick, or a retry of this one. `leaseMs`: the same claimer keeps it. */
  | { readonly kind: "next"; readonly tick: Tick; readonly leaseMs: number | undefined }
  /** Another process may claim it. */
  | { readonly kind: "release" }
  /** It is not retried any more; it becomes a dead letter with the last attempted tick. */
  | { readonly kind: "dead"; readonly tick: Tick; readonly error: string };

export type Settlement = { readonly generation: number; readonly token: string } & TickOutcome;

/** The next tick of a claimed row, or a retry, with new data. `leaseMs`: the same claimer keeps it. */
export interface Rewriting {
  readonly generation: number;
  readonly token: string;
  readonly tick: Tick;
  readonly leaseMs: number | undefined;
  readonly data: string;
}

export interface StoredReminder extends ReminderContent {
  readonly key: ReminderKey;
  readonly generation: number;
  /** Size of its data, in UTF-8. */
  readonly bytes: number;
  readonly tick: Tick;
  /** The end of its lease. */
  readonly leasedUntil: number | undefined;
}

export interface DeadReminder extends ReminderContent {
  readonly key: ReminderKey;
  readonly generation: number;
  readonly bytes: number;
  readonly tick: Tick;
  readonly error: string;
  readonly diedAt: number;
}

export interface ReminderQuery {
  readonly namespace: string;
  readonly type?: string;
  readonly id?: string;
  /** Continue behind this one: the last of the page before. */
  readonly after?: { readonly type: string; readonly id: string; readonly name: string };
  readonly limit: number;
  /** Their data is left out. */
  readonly isBrief?: boolean;
}

/**
 * Returns whether a page is the last one: pages end after `limit` rows, and with the row by which their data
 * reaches LIMITS.listBytes.
 */
export function isLastPage(
  rows: readonly (ReminderContent & { readonly bytes: number })[],
  { limit }: Pick<ReminderQuery, "limit">,
): boolean {
  const bytes = rows.reduce((sum, one) => sum + (one.data === undefined ? 0 : one.bytes), 0);
  return rows.length < limit && bytes < LIMITS.listBytes;
}

/** Each is counted up to the requested `limit`, so that the cost of counting is bounded. */
export interface ReminderCounts {
  readonly all: number;
  /** Due before now, without a lease. */
  readonly overdue: number;
  readonly dead: number;
}

/**
 * Rejections are `LimpetError`s like those of the store (ports/store/store.ts). Every request may be
 * repeated: a repeated write has the same effect except for the generation; a settlement counts once; an
 * unanswered claim ends with its lease.
 */
export interface Reminders {
  /** Answers are in the order of the writes. No key twice in one batch. One transaction. */
  write(batch: readonly ReminderWrite[]): Promise<ReminderOutcome[]>;
  claim(request: ClaimRequest): Promise<Claim>;
  /**
   * The suffix of all tokens of this process: the store uses it to detect the end of the process. Empty or
   * absent: it cannot.
   */
  tokenMark?(): string;
  /** Returns whether each counted. No generation twice in one batch. */
  settle(batch: readonly Settlement[]): Promise<boolean[]>;
  /** Like `settle` with the next tick. The row keeps its generation, so its claimer can continue. */
  rewrite(batch: readonly Rewriting[]): Promise<boolean[]>;
  /** Extends leases. Returns the generations that their token no longer holds. */
  renew(claims: readonly ReminderLease[], leaseMs: number): Promise<number[]>;
  get(key: ReminderKey): Promise<StoredReminder | undefined>;
  /** Ordered by type, id and name, by code point. `isLastPage` detects the last page. */
  list(query: ReminderQuery): Promise<StoredReminder[]>;
  listDead(query: ReminderQuery): Promise<DeadReminder[]>;
  /** Retries a dead one now, unless its key was set again meanwhile; or deletes it. False: there is none. */
  revive(key: ReminderKey): Promise<boolean>;
  forget(key: ReminderKey): Promise<boolean>;
  count(namespace: string, limit: number): Promise<ReminderCounts>;
  /**
   * Calls back when another process may have written rows that are due within NOTIFY_AHEAD_MS. Undefined:
   * this store cannot notify. Notifications may be lost.
   */
  watch(namespace: string, listener: () => void): (() => void) | undefined;
}
