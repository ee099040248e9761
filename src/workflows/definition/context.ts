// What the code of a workflow gets: everything it may wait for, and the only clock and dice it may use.
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
  /** How often it is tried in all. Default: for ever. */
  readonly attempts?: number;
  /** The pause after the first failure, each later one `factor` times longer, up to `longest`. Default 1s, 2, 1m. */
  readonly initial?: Duration;
  readonly factor?: number;
  readonly longest?: Duration;
  /** Or the pauses one by one; the last one counts for all that follow. Without `attempts` it is tried once more than there are pauses. */
  readonly delays?: readonly Duration[];
  /** Names, classes or codes of errors that trying again will not cure. */
  readonly nonRetryable?: readonly string[];
}

export interface ActivityOptions {
  readonly retry?: RetryOptions;
  /** One attempt may take so long. Default 10m. */
  readonly startToClose?: Duration;
  /** So long it may wait for a worker before it is begun for the first time. Noticed also when there is no worker. */
  readonly scheduleToStart?: Duration;
  /** All attempts together may take so long, pauses included. */
  readonly scheduleToClose?: Duration;
  /** An attempt that is not heard of for so long has failed. Such an activity goes through a queue, and what it says survives its process. */
  readonly heartbeat?: Duration;
  /** Workers of this queue run it. Default: those of the workflow's own. */
  readonly queue?: string;
}

/** What an activity gets beside its input. */
export interface ActivityContext {
  readonly workflowId: string;
  readonly runId: string;
  readonly name: string;
  /** 1 the first time. */
  readonly attempt: number;
  /** The same for every attempt at this activity: for those who must not do it twice. */
  readonly idempotencyKey: string;
  /** Aborted when nobody waits for it any more, it takes too long, or the worker stops. */
  readonly signal: AbortSignal;
  /** Says that it is still at work, and how far it has come. */
  heartbeat(details?: unknown): void;
  /** What the attempt before said last. */
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

/** What a child is started with. */
export type ChildOptions<Input> = ChildSettings & InputField<Input>;

export interface ChildSettings {
  /** Default: the id of this workflow, and a number. */
  readonly id?: string;
  readonly queue?: string;
  /** What becomes of it when this run ends before it. Default: it is terminated. */
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
  /** Of this run, so far. */
  readonly historyEvents: number;
  readonly historyBytes: number;
  /** The history has grown so long that it is time for `continueAsNew`. */
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

  /** Runs an activity, at least once, and gives what it returned. It throws ACTIVITY_FAILED when all attempts have. */
  activity<T = unknown, F extends ActivityFunction | string = ActivityFunction | string>(
    activity: F,
    ...args: ActivityArguments<T, F>
  ): Promise<ActivityResult<T, F>>;

  /** Calls an actor, as an activity would. */
  actor<A>(type: { readonly prototype: A; readonly name: string; readonly options?: object }, id: string): Methods<A>;
  actor<A = Record<string, (...args: unknown[]) => unknown>>(type: string, id: string): Methods<A>;

  /** Durable: a run may sleep for years, and costs a row while it does. */
  sleep(duration: Duration): Promise<void>;
  /** Until a moment: a date, or milliseconds since 1970. One that is past does not wait. */
  until(moment: Date | number): Promise<void>;

  /** The next signal of this name, in the order in which they came. `within`: undefined when none came in time. */
  signal<Input = unknown, Name extends AnySignal = SignalName<Input> | string>(
    name: Name,
  ): Promise<SignalValue<Input, Name>>;
  // The two differ in their number of arguments, so an error is always about the right one.
  signal<Input = unknown, Name extends AnySignal = SignalName<Input> | string>(
    name: Name,
    options: { readonly within: Duration },
  ): Promise<SignalValue<Input, Name> | undefined>;
  /** Handles every signal of this name, those that came before as well, instead of waiting for them one by one. */
  onSignal<Input = unknown, Name extends AnySignal = SignalName<Input> | string>(
    name: Name,
    handler: (input: SignalValue<Input, Name>) => unknown,
  ): void;

  /** True when `test` is; it is looked at whenever something has happened to the run. `within`: false when it was not in time. */
  condition(test: () => boolean, options?: { readonly within?: Duration }): Promise<boolean>;

  /** Answers queries of this name. It must not change anything. */
  onQuery<Result = unknown, Input = unknown, Name extends AnyQuery = QueryName<Result, Input> | string>(
    name: Name,
    handler: QueryFunction<Result, Input, Name>,
  ): void;

  /** Does updates of this name. `validate` may throw before it is accepted: then nothing of it is kept but the refusal. */
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

  /** A value that may come out differently each time: it is worked out once, and recorded. */
  sideEffect<Value>(fn: () => Value): Value;
  /** Milliseconds since 1970: when what the run sees now had happened. */
  now(): number;
  /** In [0, 1). The same at every replay. */
  random(): number;
  uuid(): string;
  /** Which version of a change this run follows: `max` for those that come to it now, `min` for those that had passed it before it was there. */
  version(change: string, min: number, max: number): number;

  readonly memo: Readonly<Record<string, unknown>>;
  setMemo(entries: Readonly<Record<string, unknown>>): void;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  /** What the run can be found by. A null takes one away. */
  setAttributes(attributes: Readonly<Record<string, AttributeValue>>): void;

  /** Ends this run and begins the next one of the workflow, with an empty history. Signals that were not waited for go along. */
  continueAsNew(input?: unknown): never;

  /** Somebody has asked the workflow to end. What it waits for at that moment throws WORKFLOW_CANCELLED, once; what it does after that is up to it. */
  readonly isCancelled: boolean;
  /** What is waited for inside is not interrupted by a cancellation. */
  shield<Value>(fn: () => Promise<Value>): Promise<Value>;
}
