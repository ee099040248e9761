// Events of a run that observers get while it runs. Checkers and coverage depend on these events and on
// nothing else.
import type { ActorKey } from "../src/kernel/names.ts";
import type { ReminderTick } from "../src/ports/reminder-writer.ts";
import type { Candidate, ElectionResult } from "../src/ports/store/coordination.ts";
import type { Claim, ClaimRequest, ReminderOutcome, ReminderWrite, Settlement } from "../src/ports/store/reminders.ts";
import type { Commit, CommitVerdict, Taken, TakeRequest } from "../src/ports/store/store.ts";
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
} from "../src/ports/store/workflows.ts";
import type { Question } from "../src/world/database/database.ts";
import type { Process } from "../src/world/process.ts";
import type { StoryLine } from "../src/world/story.ts";
import type { WorldHost } from "../src/world/world-host.ts";
import type { PlannedCall, PlannedDeed } from "./plan.ts";

/** One activation of an actor, from its first event to its last. */
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

/** One execution of the handler of a reminder or a job. */
export interface ReminderRun {
  readonly number: number;
  readonly process: Process;
  readonly namespace: string;
  readonly type: string;
  readonly id: string;
  readonly name: string;
  /** The operation that set the reminder. */
  readonly op: string;
  readonly tick: ReminderTick;
  /** Earliest time of the delivery that the actor can know; the delivery may have waited for its turn. */
  readonly sentAt: number;
  readonly beganAt: number;
}

export interface Operation {
  /** Unique in the run, begins with the namespace, and is the word that the actor appends. */
  readonly token: string;
  readonly call: PlannedCall;
  readonly namespace: string;
  readonly process: Process;
  readonly beganAt: number;
  endedAt: number | undefined;
  /** Undefined while the outcome is unknown, and for ever if the caller has ended. */
  outcome: { readonly value: unknown } | { readonly error: unknown } | undefined;
}

/** One request to a custom strategy. */
export interface StrategyCall {
  readonly process: Process;
  readonly namespace: string;
  readonly type: string;
  /** Undefined for a request for a rebalance. */
  readonly shard: number | undefined;
  readonly askedAt: number;
  endedAt: number | undefined;
  /** Incarnation that the strategy returned, if it was among the hosts of the request. */
  answer: string | undefined;
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
  /** Result of this attempt; unique among all attempts. */
  readonly result: string;
  readonly beganAt: number;
}

/** One operation of a client on a workflow. */
export interface DeedOperation {
  /** Unique in the run. */
  readonly token: string;
  readonly planned: PlannedDeed;
  readonly namespace: string;
  readonly process: Process;
  readonly beganAt: number;
  /** When the client knew that the operation is durable; the client may still wait for a result. */
  acceptedAt: number | undefined;
  /** The run that the operation started. */
  runId: string | undefined;
  endedAt: number | undefined;
  /** Undefined while the outcome is unknown, and for ever if the caller has ended. */
  outcome: { readonly value: unknown } | { readonly error: unknown } | undefined;
}

export interface Observer {
  started?(host: WorldHost, process: Process): void;
  /** The process was not ended from outside, and may continue. */
  startFailed?(host: WorldHost, process: Process): void;
  /** The process ended, for any reason. */
  gone?(host: WorldHost, process: Process): void;
  slept?(process: Process, ms: number, how: "pause" | "suspend"): void;
  /** First event of an activation. `entries`: the contents of its state, if it has any. */
  activated?(life: Life, entries?: readonly string[]): void;
  /** Last event of an activation, unless it was cut off. */
  deactivated?(life: Life, reason: string): void;
  turnBegan?(turn: Turn): void;
  turnEnded?(turn: Turn): void;
  taken?(process: Process, request: TakeRequest, taken: Taken): void;
  committed?(process: Process, commit: Commit, key: ActorKey, outcome: CommitVerdict): void;
  campaigned?(process: Process, candidate: Candidate, standing: ElectionResult): void;
  reminderBegan?(run: ReminderRun): void;
  /** `isDone`: the handler did not throw. Its effects may still be discarded. */
  reminderEnded?(run: ReminderRun, isDone: boolean): void;
  /** Reminders were written outside a commit. */
  reminded?(process: Process, batch: readonly ReminderWrite[], outcomes: readonly ReminderOutcome[]): void;
  claimed?(process: Process, request: ClaimRequest, claim: Claim): void;
  settled?(process: Process, batch: readonly Settlement[], counted: readonly boolean[]): void;
  /**
   * An attempt at an activity begins, and ends. `isDone`: it did not throw. Its result may still be
   * discarded.
   */
  activityBegan?(run: ActivityRun): void;
  activityEnded?(run: ActivityRun, isDone: boolean): void;
  /** Runs were started outside a commit or a step. */
  begun?(process: Process, batch: readonly RunStart[], outcomes: readonly StartOutcome[]): void;
  delivered?(process: Process, batch: readonly InboxMessage[], outcomes: readonly DeliveryOutcome[]): void;
  completed?(process: Process, batch: readonly TaskCompletion[], outcomes: readonly CompletionOutcome[]): void;
  closed?(process: Process, closing: Closing, isDone: boolean): void;
  polled?(process: Process, request: TaskClaim, claims: TaskClaims): void;
  gaveBack?(process: Process, batch: readonly TaskReturn[], counted: readonly boolean[]): void;
  didDeed?(operation: DeedOperation): void;
  /** A custom strategy gets a request, and responds. Some never respond. */
  strategyCalled?(advice: StrategyCall): void;
  strategyAnswered?(advice: StrategyCall): void;
  /** The store has executed a request of a process, which does not have the response yet. */
  stored?(process: Process, question: Question): void;
  /**
   * A message of the virtual network was sent: `VirtualControlMessage` or `VirtualLinkMessage` of
   * src/world/network.
   */
  sent?(from: Process, to: number, message: unknown): void;
  asked?(operation: Operation): void;
  answered?(operation: Operation): void;
  logged?(line: StoryLine): void;
  faulted?(fault: string): void;
  /** After every step of the timeline. Must be cheap. */
  stepped?(): void;
}
