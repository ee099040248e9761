// Where reminders are kept: one row each, shared by all processes. What a schedule means is the business of the reminders room;
// here it is text. One contract suite (stores/contract/) says what every store must do.
//
// - A row has a *generation*, new whenever it is set: whoever holds a lease on an earlier one holds nothing.
// - A *claim* leases rows that are due soon to whoever asks, in one atomic step, on the store's own clock. While the lease lasts nobody
//   else gets them. Everything that is said of a claimed row afterwards names its generation and the *token* of the claim, and counts
//   only while both are still those of the row.
// - Rows of types that nobody claims stay where they are.
import { LIMITS } from "../../kernel/limits.ts";
import type { ActorKey } from "../../kernel/names.ts";

/** Whoever watches hears of rows that are due within this; for later ones there is time to look. */
export const TOLD_AHEAD_MS = 60_000;

/** A reminder of an actor. Jobs, which have no actor, have types of their own. */
export interface ReminderKey extends ActorKey {
  readonly name: string;
}

/** A row that is leased under this token. A token is used for one claim, or for one row that is written with a lease. */
export interface ReminderLease {
  readonly generation: number;
  readonly token: string;
}

/** The next tick of a reminder. Times are milliseconds since 1970, on the store's clock. */
export interface Tick {
  /** When it is to be delivered, or tried again. Rows are claimed by it. */
  readonly at: number;
  /** The moment on its grid that it stands for; earlier than `at` when it has failed before. */
  readonly due: number;
  /** Its place on the grid, from 1. */
  readonly number: number;
  /** How often it has been tried. */
  readonly attempt: number;
}

export interface ReminderContent {
  /** Encoded; what is inside is the business of the reminders room. */
  readonly schedule: string;
  readonly data: string | undefined;
}

/** A lease that a row has from the start: whoever sets it delivers it. */
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

/** Whoever sets one of these has to hear its generation, or cannot deliver what is leased to it. */
export const bringsLease = (writes: readonly ReminderWrite[]): boolean =>
  writes.some((write) => write.kind === "set" && write.lease !== undefined);

export type ReminderOutcome =
  | { readonly kind: "set"; readonly generation: number }
  /** There was one, and it was to be new. */
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
  /** The store's clock when it was made. */
  readonly now: number;
  /** Earliest first. */
  readonly reminders: readonly ClaimedReminder[];
  /** When the next row of these types that is not among them will be due, or its lease over; undefined: there is none. */
  readonly next: number | undefined;
}

/** What becomes of a row that was claimed. */
export type ReminderFate =
  /** It was the last tick. */
  | { readonly kind: "done" }
  /** The next tick, or another try of this one. `leaseMs`: it stays with the same claimer. */
  | { readonly kind: "next"; readonly tick: Tick; readonly leaseMs: number | undefined }
  /** Somebody else may have it. */
  | { readonly kind: "release" }
  /** Nobody tries it any more; it is kept apart for people, with the tick as it was tried last. */
  | { readonly kind: "dead"; readonly tick: Tick; readonly error: string };

export type Settlement = { readonly generation: number; readonly token: string } & ReminderFate;

/** The next tick of a row that was claimed, or another try, and what it carries from now on. `leaseMs`: it stays with the same claimer. */
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
  /** Of its data, in UTF-8. */
  readonly bytes: number;
  readonly tick: Tick;
  /** Until when somebody has a lease on it. */
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
  readonly type?: string | undefined;
  readonly id?: string | undefined;
  /** Continue behind this one: the last of the page before. */
  readonly after?: { readonly type: string; readonly id: string; readonly name: string } | undefined;
  readonly limit: number;
  /** Their data is left out. */
  readonly isBrief?: boolean | undefined;
}

/** Whether there is nothing behind a page: pages end after `limit` rows, and with the row by which their data reaches LIMITS.listBytes. */
export function isLastPage(
  rows: readonly (ReminderContent & { readonly bytes: number })[],
  { limit }: Pick<ReminderQuery, "limit">,
): boolean {
  const bytes = rows.reduce((sum, one) => sum + (one.data === undefined ? 0 : one.bytes), 0);
  return rows.length < limit && bytes < LIMITS.listBytes;
}

/** Each is counted up to the `limit` that was asked for, so that counting costs the same however many there are. */
export interface ReminderCounts {
  readonly all: number;
  /** Due before now, and nobody has a lease on them. */
  readonly overdue: number;
  readonly dead: number;
}

/**
 * Rejections are `LimpetError`s as those of the store (ports/store/store.ts). Everything may be sent again: a write is then done twice, with
 * the same effect but for the generation; a settlement counts once; a claim that is not heard of is over when its lease is.
 */
export interface Reminders {
  /** Answers stand in the order of the writes. No key twice in one batch. One transaction. */
  write(batch: readonly ReminderWrite[]): Promise<ReminderOutcome[]>;
  claim(request: ClaimRequest): Promise<Claim>;
  /** The end of all tokens that this process makes now: by it the store notices that the process has died. Empty or left out: it cannot. */
  tokenMark?(): string;
  /** Whether each counted. No generation twice in one batch. */
  settle(batch: readonly Settlement[]): Promise<boolean[]>;
  /** As `settle` with the next tick. The row keeps its generation: whoever has claimed it goes on with that. */
  rewrite(batch: readonly Rewriting[]): Promise<boolean[]>;
  /** Longer leases. Gives the generations that are not held by their token any more. */
  renew(claims: readonly ReminderLease[], leaseMs: number): Promise<number[]>;
  get(key: ReminderKey): Promise<StoredReminder | undefined>;
  /** Ordered by type, id and name, by code point. `isLastPage` says whether there is more. */
  list(query: ReminderQuery): Promise<StoredReminder[]>;
  listDead(query: ReminderQuery): Promise<DeadReminder[]>;
  /** Tries a dead one again, from now, unless its key was set anew meanwhile; or forgets it. False: there is none. */
  revive(key: ReminderKey): Promise<boolean>;
  forget(key: ReminderKey): Promise<boolean>;
  count(namespace: string, limit: number): Promise<ReminderCounts>;
  /**
   * Calls back when rows that are due within TOLD_AHEAD_MS may have been written by another process. Undefined: this store cannot
   * tell. What is told may get lost.
   */
  watch(namespace: string, listener: () => void): (() => void) | undefined;
}
