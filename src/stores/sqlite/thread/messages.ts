// The protocol between the store and its worker thread. A batch crosses as two flat arrays, one of numbers
// and one of strings: copying 256 small objects between threads costs about three times as much as copying
// the two arrays. This module is pure, so both sides agree by construction.
import { type ErrorCode, isLimpetError } from "../../../kernel/errors.ts";
import type { ActorKey } from "../../../kernel/names.ts";
import type { Candidate, MemberChange } from "../../../ports/store/coordination.ts";
import type { ActorQuery, Commit, CommitOutcome, StoredActor, Taken, TakeRequest } from "../../../ports/store/store.ts";
import {
  type PackedAttachedReminders,
  packAttachedReminders,
  type ReminderChange,
  type ReminderLook,
} from "../reminders/messages.ts";
import type { ShardHomesWrite, ShardLook, ShardWrite } from "../shards/messages.ts";
import {
  WORKFLOW_DOUBTFUL,
  WORKFLOW_KNOWN,
  WORKFLOW_WRITES,
  type WorkflowChange,
  type WorkflowLook,
} from "../workflows/messages.ts";
import { type PackedAttachedWorkflows, packAttachedWorkflows } from "../workflows/packing.ts";

/** The file name that means no file. */
export const IN_MEMORY = ":memory:";

/** The settings of the worker. */
export interface WorkerStart {
  readonly file: string;
  /** How long to wait for a lock that another process holds. */
  readonly busyTimeoutMs: number;
}

export type ActorWrite =
  /** `floor`: the least epoch of these takes. */
  | { readonly kind: "take"; readonly strings: readonly string[]; readonly floor: number }
  | {
      readonly kind: "commit";
      readonly numbers: readonly number[];
      readonly strings: readonly string[];
      /** The incarnations of this process, the newest last. */
      readonly owners: readonly string[];
      /** Attached reminders and workflows. */
      readonly attachedReminders?: PackedAttachedReminders;
      readonly attachedWorkflows?: PackedAttachedWorkflows;
    };

export type CoordinationWrite =
  | { readonly kind: "campaign"; readonly candidate: Candidate; readonly dead: readonly string[] }
  | { readonly kind: "resign"; readonly incarnation: string }
  | { readonly kind: "note"; readonly term: number; readonly changes: readonly MemberChange[] }
  | { readonly kind: "leave"; readonly incarnations: readonly string[] }
  | { readonly kind: "secret"; readonly offer: string }
  | ShardHomesWrite;

export type Write = ActorWrite | CoordinationWrite | ReminderChange | WorkflowChange | ShardWrite;
/** Requests of schedulers go before all others: a leadership may end while they wait. */
export type Urgent = CoordinationWrite | { readonly kind: "members" } | { readonly kind: "homes" };

export type ThreadRequest =
  | ActorWrite
  | Urgent
  | ReminderChange
  | ReminderLook
  | WorkflowChange
  | WorkflowLook
  | ShardWrite
  | ShardLook
  | { readonly kind: "list"; readonly query: ActorQuery }
  | { readonly kind: "find"; readonly key: ActorKey }
  | { readonly kind: "ping" }
  | { readonly kind: "close" };

type Kind = ThreadRequest["kind"];
const COORDINATION_WRITES: ReadonlySet<Kind> = new Set(["campaign", "resign", "note", "leave", "secret", "note-homes"]);
const OTHER_WRITES: ReadonlySet<Kind> = new Set([
  ...(["take", "commit"] as const),
  ...(["remind", "claim", "settle", "rewrite", "renew", "revive", "forget"] as const),
  ...(["settle-rule", "reset-shards", "remember"] as const),
  ...WORKFLOW_WRITES,
]);
/** The caller of one of these must know that it may have been applied. The others are harmless to repeat. */
const DOUBTFUL: ReadonlySet<Kind> = new Set([
  ...(["commit", "remind", "settle", "rewrite", "revive", "forget"] as const),
  ...WORKFLOW_DOUBTFUL,
]);
/** These are recognised by their ids when they are repeated. */
const KNOWN: ReadonlySet<Kind> = new Set(["commit", ...WORKFLOW_KNOWN]);

const isCoordinationWrite = (question: ThreadRequest): boolean => COORDINATION_WRITES.has(question.kind);

export const isWrite = (question: ThreadRequest): question is Write =>
  OTHER_WRITES.has(question.kind) || isCoordinationWrite(question);

export const isDoubtful = (kind: Kind): boolean => DOUBTFUL.has(kind);

/**
 * True if a write that failed together with others may be repeated on its own. A failed COMMIT may have been
 * applied. Some writes are recognised by their ids, and most others are harmless to repeat. But a reminder
 * that was set, settled or revived, and a run that was closed, would look as if another process had done it.
 */
export function mayRepeat({ kind }: Write, error: unknown): boolean {
  return KNOWN.has(kind) || !isDoubtful(kind) || !isLimpetError(error, "COMMIT_UNKNOWN");
}

export const isUrgent = (question: ThreadRequest): question is Urgent =>
  question.kind === "members" || question.kind === "homes" || isCoordinationWrite(question);

/**
 * Responses to urgent requests come in the order of these requests, and responses to the others in theirs.
 */
export type Answer =
  | { readonly value: unknown; readonly urgent: boolean }
  | { readonly error: ThreadFailure; readonly urgent: boolean }
  /** The worker ends, and every request to it fails. */
  | { readonly error: ThreadFailure; readonly fatal: true };

export interface ThreadFailure {
  readonly code: ErrorCode;
  readonly message: string;
}

export interface TakeAnswer {
  /** For each actor: ref, epoch, version, and how many strings its state has. */
  readonly numbers: readonly number[];
  /** The states one after the other, each a whole and its changes. */
  readonly strings: readonly string[];
}

/** Places in the batch, ascending, of the commits that do not count: nearly always none. */
export interface CommitAnswer {
  readonly fenced: readonly number[];
  readonly voided: readonly number[];
  /** For each applied commit that set reminders with leases. */
  readonly leases?: readonly LeasesAnswer[];
}
/**
 * A commit's place in the batch, and a generation for each of its reminders; 0 for a reminder without a
 * lease.
 */
export interface LeasesAnswer {
  readonly place: number;
  readonly generations: readonly number[];
}
export type ListAnswer = StoredActor[];
export type FindAnswer = StoredActor | undefined;

export const TAKE_STRINGS = 4;
export const TAKE_NUMBERS = 4;
export const COMMIT_NUMBERS = 4;
export const COMMIT_STRINGS = 2;
export const WRITE_KIND = { whole: 0, change: 1, clear: 2, keep: 3 } as const;

export function packTakes(batch: readonly TakeRequest[], floor: number): ThreadRequest {
  const strings: string[] = [];
  for (const { namespace, type, id, owner } of batch) strings.push(namespace, type, id, owner);
  return { kind: "take", strings, floor };
}

export function unpackTaken({ numbers, strings }: TakeAnswer): Taken[] {
  const taken: Taken[] = [];
  let next = 0;
  for (let i = 0; i < numbers.length; i += TAKE_NUMBERS) {
    const count = numbers[i + 3] as number;
    const state =
      count === 0 ? undefined : { whole: strings[next] as string, changes: strings.slice(next + 1, next + count) };
    next += count;
    taken.push({
      ref: numbers[i] as number,
      epoch: numbers[i + 1] as number,
      version: numbers[i + 2] as number,
      state,
    });
  }
  return taken;
}

export function packCommits(batch: readonly Commit[], owners: readonly string[]): ThreadRequest {
  const numbers: number[] = [];
  const strings: string[] = [];
  for (const { ref, epoch, version, id, write } of batch) {
    numbers.push(ref, epoch, version, WRITE_KIND[write.kind]);
    strings.push(id, write.kind === "whole" || write.kind === "change" ? write.data : "");
  }
  const attached = { attachedReminders: packAttachedReminders(batch), attachedWorkflows: packAttachedWorkflows(batch) };
  return { kind: "commit", numbers, strings, owners, ...attached };
}

export function unpackCommitOutcomes({ fenced, voided, leases }: CommitAnswer, count: number): CommitOutcome[] {
  const outcomes = new Array<CommitOutcome>(count).fill("committed");
  for (const place of fenced) outcomes[place] = "fenced";
  for (const place of voided) outcomes[place] = "void";
  for (const { place, generations } of leases ?? []) {
    outcomes[place] = { kind: "committed", generations: generations.map((one) => (one === 0 ? undefined : one)) };
  }
  return outcomes;
}
