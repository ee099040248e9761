// Types of the workflow context: everything that a workflow may wait for, and its only clock and source of
// random numbers.
import type { Duration } from "../../kernel/durations.ts";
import type { Chosen, InputField } from "../../kernel/input-types.ts";
import type { OptionsFor, ResultFor } from "../client/workflow-handle.ts";
import type { ParentClosePolicy } from "../engine/events.ts";
import type { AnyWorkflow, QueryName, SignalName, UpdateName } from "./definition.ts";
import type {
  AnyQuery,
  AnySignal,
  AnyUpdate,
  QueryFunction,
  SignalInput,
  SignalValue,
  UpdateFunction,
  UpdateValidator,
} from "./message-types.ts";

export interface RetryOptions {
  /** The number of attempts in all. Default: no limit. */
  readonly attempts?: number;
  /**
   * The pause after the first failure, each later one `factor` times longer, up to `longest`. Default 1s, 2,
   * 1m.
   */
  readonly initial?: Duration;
  readonly factor?: number;
  readonly longest?: Duration;
  /**
   * Or the pauses one by one; the last one repeats. Without `attempts` there is one attempt more than there
   * are pauses.
   */
  readonly delays?: readonly Duration[];
  /** Names, classes or codes of errors that are not retried. */
  readonly nonRetryable?: readonly string[];
}

export interface ActivityOptions {
  readonly retry?: RetryOptions;
  /** The time limit of one attempt. Default 10m. */
  readonly startToClose?: Duration;
  /** The time limit for the first start of an attempt. It also holds when no worker is running. */
  readonly scheduleToStart?: Duration;
  /** The time limit of all attempts together, pauses included. */
  readonly scheduleToClose?: Duration;
  /**
   * An attempt without a heartbeat for this long fails. Such an activity goes through a queue, and its
   * heartbeat details survive its process.
   */
  readonly heartbeat?: Duration;
  /** Workers of this queue run the activity. Default: the queue of the workflow. */
  readonly queue?: string;
}

/** The second argument of an activity. */
export interface ActivityContext {
  readonly workflowId: string;
  readonly runId: string;
  readonly name: string;
  /** 1 the first time. */
  readonly attempt: number;
  /** The same for every attempt at this activity, for requests that must not be made twice. */
  readonly idempotencyKey: string;
  /** Aborts when the result is no longer needed, the activity takes too long, or the worker stops. */
  readonly signal: AbortSignal;
  /** Reports progress and restarts the heartbeat limit. */
  heartbeat(details?: unknown): void;
  /** The details of the previous attempt's last heartbeat. */
  readonly lastHeartbeat: unknown;
}

// biome-ignore lint/suspicious/noExplicitAny: any input, any result.
export type ActivityFunction = (input: any, activity: ActivityContext) => unknown;

/** The arguments after an activity, or after the name of one. */
type ActivityArguments<Explicit, Given> = [Chosen<Explicit, Given, ActivityFunction>] extends [
  infer F extends ActivityFunction,
]
  ? Parameters<F> extends []
    ? [input?: undefined, options?: ActivityOptions]
    : [input: Parameters<F>[0], options?: ActivityOptions]
  : [input?: unknown, options?: ActivityOptions];

/** The result of an activity; of a name, the type argument. */
type ActivityResult<Explicit, Given> = [Chosen<Explicit, Given, ActivityFunction>] extends [
  infer F extends ActivityFunction,
]
  ? Awaited<ReturnType<F>>
  : Explicit;

/** The options of a child. */
export type ChildOptions<Input> = ChildSettings & InputField<Input>;

export interface ChildSettings {
  /** Default: the id of this workflow, and a number. */
  readonly id?: string;
  readonly queue?: string;
  /** The effect on the child when this run ends first. Default: the child is terminated. */
  readonly onParentClose?: ParentClosePolicy;
}

/** Another workflow, from inside one. */
export interface OtherWorkflow {
  signal<Input = unknown, Name extends AnySignal = SignalName<Input> | string>(
    name: Name,
    ...input: SignalInput<Input, Name>
  ): void;
  cancel(): void;
}

/** A child that was started. It is a promise of its result. */
export interface Child<Result> extends Promise<Result>, OtherWorkflow {
  readonly workflowId: string;
}

export interface RunInfo {
  readonly namespace: string;
  readonly workflowId: string;
  readonly runId: string;
  readonly type: string;
  readonly queue: string;
  /** The size of this run's history so far. */
  readonly historyEvents: number;
  readonly historyBytes: number;
  /** The history is so long that the run should call `continueAsNew`. */
  readonly continueAsNewSuggested: boolean;
}

export type AttributeValue = string | number | boolean | null;

type Methods<A> = {
  readonly [K in keyof A as A[K] extends (...args: never[]) => unknown ? K : never]: A[K] extends (
    ...args: infer Args
  ) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never;
};

export interface WorkflowContext {
  readonly info: RunInfo;

  /** Runs an activity at least once and returns its result. Throws ACTIVITY_FAILED after the last attempt. */
  activity<T = unknown, F extends ActivityFunction | string = ActivityFunction | string>(
    activity: F,
    ...args: ActivityArguments<T, F>
  ): Promise<ActivityResult<T, F>>;

  /** Calls an actor, as an activity would. */
  actor<A>(type: { readonly prototype: A; readonly name: string; readonly options?: object }, id: string): Methods<A>;
  actor<A = Record<string, (...args: unknown[]) => unknown>>(type: string, id: string): Methods<A>;

  /** Durable: a run may sleep for years, at the cost of one row. */
  sleep(duration: Duration): Promise<void>;
  /** Sleeps until a moment: a date, or milliseconds since 1970. A past moment returns at once. */
  until(moment: Date | number): Promise<void>;

  /**
   * The next signal of this name, in order of arrival. `within`: returns undefined when no signal arrives in
   * time.
   */
  signal<Input = unknown, Name extends AnySignal = SignalName<Input> | string>(
    name: Name,
  ): Promise<SignalValue<Input, Name>>;
  // The two overloads differ in their number of arguments, so the compiler reports errors for the right one.
  signal<Input = unknown, Name extends AnySignal = SignalName<Input> | string>(
    name: Name,
    options: { readonly within: Duration },
  ): Promise<SignalValue<Input, Name> | undefined>;
  /** Handles every signal of this name, including earlier ones, instead of waiting for them one by one. */
  onSignal<Input = unknown, Name extends AnySignal = SignalName<Input> | string>(
    name: Name,
    handler: (input: SignalValue<Input, Name>) => unknown,
  ): void;

  /**
   * Waits until `test` returns true; it is evaluated after every event of the run. `within`: returns false
   * when the time is over.
   */
  condition(test: () => boolean, options?: { readonly within?: Duration }): Promise<boolean>;

  /** Answers queries of this name. It must not change anything. */
  onQuery<Result = unknown, Input = unknown, Name extends AnyQuery = QueryName<Result, Input> | string>(
    name: Name,
    handler: QueryFunction<Result, Input, Name>,
  ): void;

  /**
   * Handles updates of this name. `validate` may throw before the update is accepted: the history then
   * records only the rejection.
   */
  onUpdate<Result = unknown, Input = unknown, Name extends AnyUpdate = UpdateName<Result, Input> | string>(
    name: Name,
    handler: UpdateFunction<Result, Input, Name>,
    options?: { readonly validate?: UpdateValidator<Input, Name> },
  ): void;

  /** Starts another workflow as a child of this run. */
  child<T = unknown, W extends AnyWorkflow | string = AnyWorkflow | string>(
    workflow: W,
    ...options: OptionsFor<T, W, ChildSettings>
  ): Child<ResultFor<T, W>>;
  /** Any other workflow, by its id. */
  workflow(workflowId: string): OtherWorkflow;

  /** Evaluates the function once and records its value, for values that differ from replay to replay. */
  sideEffect<Value>(fn: () => Value): Value;
  /** Milliseconds since 1970: the time of the event that the run handles now. */
  now(): number;
  /** In [0, 1). The same at every replay. */
  random(): number;
  uuid(): string;
  /**
   * The version of a change that this run follows: `max` for runs that reach it now, `min` for runs that
   * passed it before the change.
   */
  version(change: string, min: number, max: number): number;

  readonly memo: Readonly<Record<string, unknown>>;
  setMemo(entries: Readonly<Record<string, unknown>>): void;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  /** Sets search attributes of the run. A null removes one. */
  setAttributes(attributes: Readonly<Record<string, AttributeValue>>): void;

  /**
   * Ends this run and begins the next one of the workflow with an empty history. Unhandled signals move to
   * the next run.
   */
  continueAsNew(input?: unknown): never;

  /**
   * Cancellation was requested. The current wait throws WORKFLOW_CANCELLED once; the code decides how to
   * continue.
   */
  readonly isCancelled: boolean;
  /** A cancellation does not interrupt waits inside the function. */
  shield<Value>(fn: () => Promise<Value>): Promise<Value>;
}
