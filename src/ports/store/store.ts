// Where actors keep their state. One contract suite (stores/store.contract.ts) says what every store must do.
//
// The fence. Each actor has one row with an epoch, a version and the id of its last commit.
// - `take` raises the epoch and returns the state in one atomic step: whoever held the actor before can no longer
//   commit, and what is returned is what the last holder managed to commit. It never waits for anybody's lease.
// - `commit` changes the row only `WHERE epoch = mine AND version = the one I read`, raises the version by one and
//   records the commit id. A row that does not match is left alone; if it carries this very commit id the commit had
//   happened before (its answer was lost) and the outcome is `committed` all the same, otherwise it is `fenced`.
//   So the same commit may be sent any number of times: it is applied once, and what it says of reminders with it.
// - A commit that settles a reminder counts only together with that: so what a tick does to the state is done once.
// - Clearing state is a commit like any other. The row stays, because its epoch must never be handed out twice.

import type { ActorKey } from "../../kernel/names.ts";
import type { Coordination } from "./coordination.ts";
import type { Reminders, ReminderWrite, Settlement } from "./reminders.ts";
import type { Shards } from "./shards.ts";
import type { InboxMessage, RunStart, Workflows } from "./workflows.ts";

export interface TakeRequest extends ActorKey {
  /** Who takes it: the incarnation of the process. Shown to people; the epoch is what counts. */
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

/** Encoded text; what is inside is the business of the actors room. */
export interface StoredState {
  readonly whole: string;
  /** What changed since, oldest first. */
  readonly changes: readonly string[];
}

export type StateWrite =
  | { readonly kind: "whole"; readonly data: string }
  | { readonly kind: "change"; readonly data: string }
  | { readonly kind: "clear" }
  /** The state stays as it is; version and commit id move on. */
  | { readonly kind: "keep" };

export interface Commit {
  readonly ref: number;
  readonly epoch: number;
  /** The version this commit builds on. */
  readonly version: number;
  /** Unique in the world; the same for every attempt at this commit. */
  readonly id: string;
  readonly write: StateWrite;
  /**
   * Reminders that are settled, and then those that are written, in the same transaction, if and only if this commit counts. A commit
   * counts only if all that it settles does: if the lease on one of them is gone, nothing of it is done, and it is `void`.
   * Another commit of the batch may write the same one: one of the two stands.
   */
  readonly settle?: readonly Settlement[] | undefined;
  readonly reminders?: readonly ReminderWrite[] | undefined;
  /**
   * Runs of workflows that are started, and then what is sent to runs, in the same transaction, if and only if this commit counts.
   * Starts keep a run that is open. What becomes of them is not told: what cannot arrive because its run is over is dropped.
   */
  readonly starts?: readonly RunStart[] | undefined;
  readonly arrivals?: readonly InboxMessage[] | undefined;
}

/** `void`: the row still waits for a commit of this writer, but a reminder that this one settles is not its writer's any more. */
export type CommitVerdict = "committed" | "fenced" | "void";

/** It was done just now, and set reminders with leases. */
export interface CommittedLeases {
  readonly kind: "committed";
  /** In the order of its reminders: of each that was set with a lease its generation, and nothing of the others. */
  readonly generations: readonly (number | undefined)[];
}

/** One with leases that had happened before is only `committed`: what it set may be gone, or somebody else's. */
export type CommitOutcome = CommitVerdict | CommittedLeases;

export const verdictOf = (outcome: CommitOutcome): CommitVerdict =>
  typeof outcome === "string" ? outcome : outcome.kind;

/** Somebody else's transaction holds this row, and keeps it for long. Nothing happened to it; the rest of the batch is done. */
export type Held = undefined;

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
  readonly type?: string | undefined;
  /** Ids begin with this. */
  readonly prefix?: string | undefined;
  /** Continue behind this actor: the last one of the page before. */
  readonly after?: { readonly type: string; readonly id: string } | undefined;
  readonly limit: number;
}

/**
 * Rejections are `LimpetError`s: `STORE_UNAVAILABLE` when surely nothing was applied, `COMMIT_UNKNOWN` when something
 * may have been. A batch is one transaction: all of it is applied or none, and one that is fenced or void does not hinder the rest.
 */
export interface Store {
  /** Where it is, for people: a file name or a URL without secrets. */
  readonly location: string;
  /** How many batches are worth having under way at once. */
  readonly lanes: number;
  /** So many are worth a batch of their own: they are sent at once, without waiting for more to gather. */
  readonly eager: number;
  /** What schedulers agree on here. Takes and commits that wait do not hold it up. */
  readonly coordination: Coordination;
  readonly reminders: Reminders;
  readonly workflows: Workflows;
  readonly shards: Shards;
  /** Answers stand in the order of the requests. No actor twice in one batch. */
  take(batch: readonly TakeRequest[]): Promise<(Taken | Held)[]>;
  /** Answers stand in the order of the commits. No actor twice in one batch. */
  commit(batch: readonly Commit[]): Promise<(CommitOutcome | Held)[]>;
  /** Ordered by type, then id, by code point. Only what was taken at least once is there. */
  list(query: ActorQuery): Promise<StoredActor[]>;
  find(key: ActorKey): Promise<StoredActor | undefined>;
  /** Resolves when the store answers. */
  ping(): Promise<void>;
  /** Much may be asked of it at once in a moment: what has to be there for it is made ready. It never fails. */
  warm?(): Promise<void>;
  /** Waits for what is under way. Everything after it is refused with STORE_UNAVAILABLE. */
  close(): Promise<void>;
}
