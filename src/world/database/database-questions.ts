// Requests to a virtual database, the errors of failed requests, and the interface of its observers.
import { LimpetError } from "../../kernel/errors.ts";
import type { ActorKey } from "../../kernel/names.ts";
import type { Candidate, ElectionResult } from "../../ports/store/coordination.ts";
import type { Claim, ClaimRequest, ReminderOutcome, ReminderWrite, Settlement } from "../../ports/store/reminders.ts";
import type { RememberedChange, ShardHomeChange, ShardRule } from "../../ports/store/shards.ts";
import type { Commit, CommitVerdict, Taken, TakeRequest } from "../../ports/store/store.ts";
import type {
  Closing,
  CompletionOutcome,
  DeliveryOutcome,
  InboxMessage,
  RunStart,
  StartOutcome,
  TaskClaim,
  TaskClaims,
  TaskCompletion,
  TaskReturn,
} from "../../ports/store/workflows.ts";
import type { Station } from "../network/network.ts";

export type Question =
  | ("take" | "commit" | "read" | "ping")
  | ("campaign" | "resign" | "members" | "note")
  /** Shards: settling and removing rules; reading and writing homes; remembering and reading actors. */
  | ("rule" | "homes" | "note homes" | "remember" | "recall")
  /** Reminders: setting, cancelling and operating on dead ones; claiming; settling; renewing. */
  | ("remind" | "claim" | "settle" | "renew")
  /** Workflows: starting, delivering events, steps, ending from outside. */
  | ("start" | "arrive" | "append" | "end")
  /** Tasks: claiming, renewing, releasing, waking. */
  | ("poll" | "extend" | "give back" | "wake")
  /** Waiting for the end of runs, statistics of workers, and removing ended runs. */
  | ("await" | "worker" | "prune");

/** Notifications for observers of the database. */
export interface DatabaseWatcher {
  /** A process is about to send a request. */
  asks?(station: Station, question: Question): void;
  taken?(station: Station, request: TakeRequest, taken: Taken): void;
  committed?(station: Station, commit: Commit, key: ActorKey, outcome: CommitVerdict): void;
  campaigned?(station: Station, candidate: Candidate, standing: ElectionResult): void;
  /** A host has removed itself from the members. */
  left?(station: Station, incarnations: readonly string[]): void;
  ruled?(station: Station, asked: ShardRule, settled: ShardRule): void;
  notedHomes?(station: Station, term: number, changes: readonly ShardHomeChange[], isCurrent: boolean): void;
  remembered?(
    station: Station,
    home: string | undefined,
    changes: readonly RememberedChange[],
    made: readonly boolean[],
  ): void;
  /** Not called for reminders of a commit, which are part of the commit's notification. */
  reminded?(station: Station, batch: readonly ReminderWrite[], outcomes: readonly ReminderOutcome[]): void;
  claimed?(station: Station, request: ClaimRequest, claim: Claim): void;
  settled?(station: Station, batch: readonly Settlement[], counted: readonly boolean[]): void;
  /** Not called for runs and events of a commit or a step, which are part of that notification. */
  started?(station: Station, batch: readonly RunStart[], outcomes: readonly StartOutcome[]): void;
  delivered?(station: Station, batch: readonly InboxMessage[], outcomes: readonly DeliveryOutcome[]): void;
  completed?(station: Station, batch: readonly TaskCompletion[], outcomes: readonly CompletionOutcome[]): void;
  ended?(station: Station, closing: Closing, isDone: boolean): void;
  polled?(station: Station, request: TaskClaim, claims: TaskClaims): void;
  gaveBack?(station: Station, batch: readonly TaskReturn[], counted: readonly boolean[]): void;
  /** The request took effect, and the response has not been sent yet. */
  done?(station: Station, question: Question): void;
}

export const WRITES: ReadonlySet<Question> = new Set<Question>([
  ...(["take", "commit", "campaign", "resign", "note", "rule", "note homes", "remember"] as const),
  ...(["remind", "claim", "settle", "renew"] as const),
  ...(["start", "arrive", "append", "end", "poll", "extend", "give back", "wake", "await", "worker", "prune"] as const),
]);
/** Requests that may have taken effect when their response is lost. All others are safe to repeat. */
const DOUBTFUL: ReadonlySet<Question> = new Set<Question>([
  ...(["commit", "remind", "settle"] as const),
  ...(["start", "arrive", "append", "end", "give back"] as const),
]);

export function failure(question: Question, isDone: boolean, why: string): LimpetError {
  const code = isDone && DOUBTFUL.has(question) ? "COMMIT_UNKNOWN" : "STORE_UNAVAILABLE";
  return new LimpetError(code, `the database failed: ${why}`);
}
