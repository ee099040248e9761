// The protocol between the store and its worker thread: a request names a verb of the tables below, and the
// response has the result of its handler. Both threads load the same tables.
import { type ErrorCode, isLimpetError } from "../../../kernel/errors.ts";
import { STORE_VERBS } from "../actors/verbs.ts";
import { COORDINATION_VERBS } from "../coordination/coordination.ts";
import { REMINDER_VERBS } from "../reminders/reminders.ts";
import { SHARD_VERBS } from "../shards/shards.ts";
import { WORKFLOW_VERBS } from "../workflows/workflows.ts";
import type { AnyVerb } from "./verb.ts";

/** The file name that means no file. */
export const IN_MEMORY = ":memory:";

/** The settings of the worker. */
export interface WorkerStart {
  readonly file: string;
  /** How long to wait for a lock that another process holds. */
  readonly busyTimeoutMs: number;
}

const VERBS = {
  store: STORE_VERBS,
  coordination: COORDINATION_VERBS,
  reminders: REMINDER_VERBS,
  workflows: WORKFLOW_VERBS,
  shards: SHARD_VERBS,
};
export type Verbs = typeof VERBS;

export interface ThreadRequest {
  readonly feature: keyof Verbs;
  readonly name: string;
  readonly args: readonly unknown[];
}

export const verbOf = ({ feature, name }: ThreadRequest): AnyVerb =>
  (VERBS[feature] as Readonly<Record<string, AnyVerb>>)[name]!;

/**
 * True if a write that failed together with others may be repeated on its own. A failed COMMIT may have been
 * applied.
 */
export const mayRepeat = (request: ThreadRequest, error: unknown): boolean =>
  verbOf(request).repeat !== "unsafe" || !isLimpetError(error, "COMMIT_UNKNOWN");

/** The caller must know that the request may have been applied. */
export const isAmbiguous = ({ repeat }: AnyVerb): boolean => repeat !== "harmless";

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
