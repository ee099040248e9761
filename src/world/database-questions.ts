// What can be asked of a virtual database, what whoever asked is told when it fails, and what is told to whoever watches it.
import { LimpetError } from "../kernel/errors.ts";
import type { ActorKey } from "../kernel/names.ts";
import type { Candidate, ElectionResult } from "../ports/coordination.ts";
import type { Claim, ClaimRequest, ReminderOutcome, ReminderWrite, Settlement } from "../ports/reminders.ts";
import type { RememberedChange, ShardHomeChange, ShardRule } from "../ports/shards.ts";
import type { Commit, CommitVerdict, Taken, TakeRequest } from "../ports/store.ts";
import type {
  AppendOutcome,
  Closing,
  DeliveryOutcome,
  InboxMessage,
  RunStart,
  StartOutcome,
  TaskClaim,
  TaskClaims,
  TaskCompletion,
  TaskReturn,
} from "../ports/workflows.ts";
import type { Station } from "./network.ts";

export type Question =
  | ("take" | "commit" | "read" | "ping")
  | ("campaign" | "resign" | "members" | "note")
  /** Of shards: settling rules and taking them back; reading and noting homes; remembering actors and reading them. */
  | ("rule" | "homes" | "note homes" | "remember" | "recall")
  /** Of reminders: setting, cancelling, and what people do with dead ones; claiming; settling; renewing. */
  | ("remind" | "claim" | "settle" | "renew")
  /** Of workflows: starting, what arrives, steps, ending from outside. */
  | ("start" | "arrive" | "append" | "end")
  /** Of their tasks: claiming, renewing, giving back, waking. */
  | ("poll" | "extend" | "give back" | "wake")
  /** Waiting for the end of runs, what workers say of themselves, and removing what has ended. */
  | ("await" | "worker" | "prune");

/** What the database tells whoever watches it. */
export interface DatabaseWatcher {
  /** A process has decided to ask, and is about to send its question. */
  asks?(station: Station, question: Question): void;
  taken?(station: Station, request: TakeRequest, taken: Taken): void;
  committed?(station: Station, commit: Commit, key: ActorKey, outcome: CommitVerdict): void;
  campaigned?(station: Station, candidate: Candidate, standing: ElectionResult): void;
  /** A host has taken itself out of the members. */
  left?(station: Station, incarnations: readonly string[]): void;
  ruled?(station: Station, asked: ShardRule, settled: ShardRule): void;
  notedHomes?(station: Station, term: number, changes: readonly ShardHomeChange[], isCurrent: boolean): void;
  remembered?(
    station: Station,
    home: string | undefined,
    changes: readonly RememberedChange[],
    made: readonly boolean[],
  ): void;
  /** Those that a commit brings are told with the commit alone. */
  reminded?(station: Station, batch: readonly ReminderWrite[], outcomes: readonly ReminderOutcome[]): void;
  claimed?(station: Station, request: ClaimRequest, claim: Claim): void;
  settled?(station: Station, batch: readonly Settlement[], counted: readonly boolean[]): void;
  /** Runs and arrivals that a commit or a step brings are told with that alone. */
  started?(station: Station, batch: readonly RunStart[], outcomes: readonly StartOutcome[]): void;
  arrived?(station: Station, batch: readonly InboxMessage[], outcomes: readonly DeliveryOutcome[]): void;
  appended?(station: Station, batch: readonly TaskCompletion[], outcomes: readonly AppendOutcome[]): void;
  ended?(station: Station, closing: Closing, isDone: boolean): void;
  polled?(station: Station, request: TaskClaim, claims: TaskClaims): void;
  gaveBack?(station: Station, batch: readonly TaskReturn[], counted: readonly boolean[]): void;
  /** It has been done, and the answer has not left yet. */
  done?(station: Station, question: Question): void;
}

export const WRITES: ReadonlySet<Question> = new Set<Question>([
  ...(["take", "commit", "campaign", "resign", "note", "rule", "note homes", "remember"] as const),
  ...(["remind", "claim", "settle", "renew"] as const),
  ...(["start", "arrive", "append", "end", "poll", "extend", "give back", "wake", "await", "worker", "prune"] as const),
]);
/** Whoever asked these must know that they may have been done. The others are harmless to do twice. */
const DOUBTFUL: ReadonlySet<Question> = new Set<Question>([
  ...(["commit", "remind", "settle"] as const),
  ...(["start", "arrive", "append", "end", "give back"] as const),
]);

export function failure(question: Question, isDone: boolean, why: string): LimpetError {
  const code = isDone && DOUBTFUL.has(question) ? "COMMIT_UNKNOWN" : "STORE_UNAVAILABLE";
  return new LimpetError(code, `the database failed: ${why}`);
}
