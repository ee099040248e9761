// The store of actor state. One contract suite (stores/store.contract.ts) covers every store.
//
// The fence. Each actor has one row with an epoch, a version and the id of its last commit.
// - `take` raises the epoch and returns the state in one atomic step. The previous holder can no longer
//   commit, and the returned state is its last commit. It never waits for a lease.
// - `commit` changes the row only `WHERE epoch = mine AND version = the one I read`, raises the version by
//   one and records the commit id. A row that does not match stays unchanged. If it carries this commit id,
//   the commit had happened before (its answer was lost) and the outcome is `committed`; otherwise it is
//   `fenced`. So the same commit may be sent any number of times: it is applied once, together with its
//   reminders.
// - A commit that settles a reminder counts only together with the settlement: so the effect of a tick on the
//   state is applied once.
// - Clearing state is a commit like any other. The row stays, because its epoch must never be issued twice.

import type { ActorKey } from "../../kernel/names.ts";
import type { Coordination } from "./coordination.ts";
import type { Reminders, ReminderWrite, Settlement } from "./reminders.ts";
import type { Shards } from "./shards.ts";
import type { InboxMessage, RunStart, Workflows } from "./workflows.ts";

export interface TakeRequest extends ActorKey {
  /** The incarnation of the process. For display; the epoch is the fence. */
  readonly owner: string;
}

export interface Taken {
  /** The store's own short name for the actor's row. Commits use it. */
  readonly ref: number;
  readonly epoch: number;
  readonly version: number;
  /** `undefined`: nothing stored, or cleared. */
  readonly state: StoredState | undefined;
}

/** Encoded text; only src/actors interprets it. */
export interface StoredState {
  readonly whole: string;
  /** Later changes, oldest first. */
  readonly changes: readonly string[];
}

export type StateWrite =
  | { readonly kind: "whole"; readonly data: string }
  | { readonly kind: "change"; readonly data: string }
  | { readonly kind: "clear" }
  /** The state stays unchanged; version and commit id advance. */
  | { readonly kind: "keep" };

export interface Commit {
  readonly ref: number;
  readonly epoch: number;
  /** The version this commit builds on. */
  readonly version: number;
  /** Globally unique; the same for every attempt at this commit. */
  readonly id: string;
  readonly write: StateWrite;
  /**
   * Reminders that are settled, and then reminders that are written, in the same transaction, if and only if
   * this commit counts. A commit counts only if all of its settlements do: if the lease on one of them is
   * gone, nothing of it is applied, and it is `void`. Another commit of the batch may write the same
   * reminder: one of the two wins.
   */
  readonly settle?: readonly Settlement[];
  readonly reminders?: readonly ReminderWrite[];
  /**
   * Workflow runs that are started, and then messages to runs, in the same transaction, if and only if this
   * commit counts. A start keeps an open run. Their outcomes are not reported: a message to a closed run is
   * dropped.
   */
  readonly starts?: readonly RunStart[];
  readonly messages?: readonly InboxMessage[];
}

/**
 * `void`: the row still waits for a commit of this writer, but the writer has lost a reminder that this
 * commit settles.
 */
export type CommitVerdict = "committed" | "fenced" | "void";

/** The commit was applied now, and set reminders with leases. */
export interface CommittedLeases {
  readonly kind: "committed";
  /**
   * In the order of its reminders: the generation of each reminder that was set with a lease, undefined for
   * others.
   */
  readonly generations: readonly (number | undefined)[];
}

/**
 * A repeated commit with leases is only `committed`: its reminders may be gone, or claimed by another
 * process.
 */
export type CommitOutcome = CommitVerdict | CommittedLeases;

export const verdictOf = (outcome: CommitOutcome): CommitVerdict =>
  typeof outcome === "string" ? outcome : outcome.kind;

/**
 * The transaction of another process holds this row for long. It was not changed; the rest of the batch is
 * done.
 */
export type Locked = "locked";

export interface StoredActor {
  readonly type: string;
  readonly id: string;
  readonly epoch: number;
  readonly version: number;
  readonly owner: string;
  /** Size of the encoded state; 0 when there is none. */
  readonly bytes: number;
  /** Milliseconds since 1970, on the store's clock. */
  readonly takenAt: number;
  readonly committedAt: number | undefined;
}

export interface ActorQuery {
  readonly namespace: string;
  readonly type?: string;
  /** Ids begin with this. */
  readonly prefix?: string;
  /** Continue behind this actor: the last one of the page before. */
  readonly after?: { readonly type: string; readonly id: string };
  readonly limit: number;
}

/**
 * Rejections are `LimpetError`s: `STORE_UNAVAILABLE` when certainly nothing was applied, `COMMIT_UNKNOWN`
 * when something may have been. A batch is one transaction: all of it is applied or none, and a fenced or
 * void item does not affect the rest.
 */
export interface Store {
  /** Its location for display: a file name or a URL without secrets. */
  readonly location: string;
  /** Useful number of concurrent batches. */
  readonly lanes: number;
  /** This many items are worth their own batch: they are sent at once, without waiting for more. */
  readonly eager: number;
  /** The shared state of schedulers. Waiting takes and commits do not delay it. */
  readonly coordination: Coordination;
  readonly reminders: Reminders;
  readonly workflows: Workflows;
  readonly shards: Shards;
  /** Answers are in the order of the requests. No actor twice in one batch. */
  take(batch: readonly TakeRequest[]): Promise<(Taken | Locked)[]>;
  /** Answers are in the order of the commits. No actor twice in one batch. */
  commit(batch: readonly Commit[]): Promise<(CommitOutcome | Locked)[]>;
  /** Ordered by type, then id, by code point. Contains only actors that were taken at least once. */
  list(query: ActorQuery): Promise<StoredActor[]>;
  find(key: ActorKey): Promise<StoredActor | undefined>;
  /** Resolves when the store answers. */
  ping(): Promise<void>;
  /** Prepares connections and caches for a burst of requests. It never fails. */
  warm?(): Promise<void>;
  /** Waits for requests in progress. Later ones are rejected with STORE_UNAVAILABLE. */
  close(): Promise<void>;
}
