// What can be seen of a run while it goes on. Checkers and marks look at these and at nothing else.
import type { ActorKey } from "../src/kernel/names.ts";
import type { Candidate, ElectionResult } from "../src/ports/coordination.ts";
import type { ReminderTick } from "../src/ports/reminder-writer.ts";
import type { Claim, ClaimRequest, ReminderOutcome, ReminderWrite, Settlement } from "../src/ports/reminders.ts";
import type { Commit, CommitVerdict, Taken, TakeRequest } from "../src/ports/store.ts";
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
} from "../src/ports/workflows.ts";
import type { Question } from "../src/world/database.ts";
import type { Process } from "../src/world/process.ts";
import type { StoryLine } from "../src/world/story.ts";
import type { WorldHost } from "../src/world/world-host.ts";
import type { PlannedCall, PlannedDeed } from "./plan.ts";

/** One activation of an actor, from its first word to its last. */
export interface Life {
  /** Unique in the run. */
  readonly number: number;
  readonly process: Process;
  readonly namespace: string;
  readonly type: string;
  readonly id: string;
  readonly bornAt: number;
}

export interface Turn {
  readonly number: number;
  readonly life: Life;
  /** The operation it performs. */
  readonly op: string;
  readonly beganAt: number;
}

/** A handler that was called because a reminder, or a job, was due. */
export interface ReminderRun {
  readonly number: number;
  readonly process: Process;
  readonly namespace: string;
  readonly type: string;
  readonly id: string;
  readonly name: string;
  /** What set it. */
  readonly op: string;
  readonly tick: ReminderTick;
  /** When it was sent on its way, as well as its actor can know: it may have waited for its turn. */
  readonly sentAt: number;
  readonly beganAt: number;
}

export interface Operation {
  /** Unique in the run, and what an actor writes down. Begins with its namespace. */
  readonly token: string;
  readonly call: PlannedCall;
  readonly namespace: string;
  readonly process: Process;
  readonly beganAt: number;
  endedAt: number | undefined;
  /** Undefined while nobody knows, and for ever when its caller has ended. */
  outcome: { readonly value: unknown } | { readonly error: unknown } | undefined;
}

/** A question to a strategy that the application wrote. */
export interface Advice {
  readonly process: Process;
  readonly namespace: string;
  readonly type: string;
  /** Undefined: which of them should move? */
  readonly shard: number | undefined;
  readonly askedAt: number;
  endedAt: number | undefined;
  /** The incarnation that it means, if it means one that it was told of. */
  said: string | undefined;
}

/** One attempt at an activity of a workflow. */
export interface ActivityRun {
  readonly number: number;
  readonly process: Process;
  readonly workflowId: string;
  readonly runId: string;
  /** The same for every attempt at this activity. */
  readonly key: string;
  readonly word: string;
  readonly attempt: number;
  /** What it gives when it is done: no other attempt gives the same. */
  readonly result: string;
  readonly beganAt: number;
}

/** Something that was done with a workflow. */
export interface DeedOperation {
  /** Unique in the run. */
  readonly token: string;
  readonly planned: PlannedDeed;
  readonly namespace: string;
  readonly process: Process;
  readonly beganAt: number;
  /** When its caller knew that it is durable, though it may wait for more. */
  acceptedAt: number | undefined;
  /** Of what it has started. */
  runId: string | undefined;
  endedAt: number | undefined;
  /** Undefined while nobody knows, and for ever when its caller has ended. */
  outcome: { readonly value: unknown } | { readonly error: unknown } | undefined;
}

export interface Observer {
  started?(host: WorldHost, process: Process): void;
  /** It was not ended from outside, and may go on. */
  startFailed?(host: WorldHost, process: Process): void;
  /** However it ended. */
  gone?(host: WorldHost, process: Process): void;
  slept?(process: Process, ms: number, how: "pause" | "suspend"): void;
  /** The first thing an activation does. `entries`: what it finds in its state, if it has any. */
  activated?(life: Life, entries?: readonly string[]): void;
  /** The last thing it does, unless it was cut off. */
  deactivated?(life: Life, reason: string): void;
  turnBegan?(turn: Turn): void;
  turnEnded?(turn: Turn): void;
  taken?(process: Process, request: TakeRequest, taken: Taken): void;
  committed?(process: Process, commit: Commit, key: ActorKey, outcome: CommitVerdict): void;
  campaigned?(process: Process, candidate: Candidate, standing: ElectionResult): void;
  reminderBegan?(run: ReminderRun): void;
  /** `isDone`: it has not thrown. What it did may still come to nothing. */
  reminderEnded?(run: ReminderRun, isDone: boolean): void;
  /** Reminders were written, other than by a commit. */
  reminded?(process: Process, batch: readonly ReminderWrite[], outcomes: readonly ReminderOutcome[]): void;
  claimed?(process: Process, request: ClaimRequest, claim: Claim): void;
  settled?(process: Process, batch: readonly Settlement[], counted: readonly boolean[]): void;
  /** An attempt at an activity begins, and ends. `isDone`: it has not thrown. What came of it may still come to nothing. */
  activityBegan?(run: ActivityRun): void;
  activityEnded?(run: ActivityRun, isDone: boolean): void;
  /** Runs were started, other than by a commit or a step. */
  begun?(process: Process, batch: readonly RunStart[], outcomes: readonly StartOutcome[]): void;
  arrived?(process: Process, batch: readonly InboxMessage[], outcomes: readonly DeliveryOutcome[]): void;
  appended?(process: Process, batch: readonly TaskCompletion[], outcomes: readonly AppendOutcome[]): void;
  closed?(process: Process, closing: Closing, isDone: boolean): void;
  polled?(process: Process, request: TaskClaim, claims: TaskClaims): void;
  gaveBack?(process: Process, batch: readonly TaskReturn[], counted: readonly boolean[]): void;
  didDeed?(operation: DeedOperation): void;
  /** A strategy of the application is asked, and has answered; some never do. */
  adviceAsked?(advice: Advice): void;
  adviceGiven?(advice: Advice): void;
  /** The store has done something for a process, which has not heard of it yet. */
  stored?(process: Process, question: Question): void;
  /** A message of the virtual network was sent: `Said` of src/world/virtual-control.ts or virtual-links.ts. */
  sent?(from: Process, to: number, message: unknown): void;
  asked?(operation: Operation): void;
  answered?(operation: Operation): void;
  told?(line: StoryLine): void;
  faulted?(fault: string): void;
  /** After every step. Must be cheap. */
  stepped?(): void;
}
