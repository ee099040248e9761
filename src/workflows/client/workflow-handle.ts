// Types of the client: options of a start, descriptions of runs, and the handle of a workflow. Types alone.
import type { Duration } from "../../kernel/durations.ts";
import type { Chosen, InputField, InputOptions } from "../../kernel/input-types.ts";
import type { RunQuery, RunStatus } from "../../ports/store/workflows.ts";
import type { AttributeValue } from "../definition/context.ts";
import type { AnyWorkflow, InputOf, QueryName, ResultOf, SignalName, UpdateName } from "../definition/definition.ts";
import type {
  AnyQuery,
  AnySignal,
  AnyUpdate,
  QueryAnswer,
  QueryInput,
  SignalInput,
  UpdateAnswer,
  UpdateArguments,
} from "../definition/message-types.ts";
import type { HistoryEvent } from "../engine/events.ts";

/** The options after a workflow, or after the name of one. */
export type OptionsFor<Explicit, Given, Settings> = [Chosen<Explicit, Given, AnyWorkflow>] extends [
  infer W extends AnyWorkflow,
]
  ? InputOptions<InputOf<W>, Settings>
  : [options?: Settings & InputField<unknown>];

/** The result of a workflow; of a name, the type argument. */
export type ResultFor<Explicit, Given> = [Chosen<Explicit, Given, AnyWorkflow>] extends [infer W extends AnyWorkflow]
  ? ResultOf<W>
  : Explicit;

/** Options of a start. A workflow without an input may be started without one. */
export type StartOptions<Input> = StartSettings & InputField<Input>;

export interface StartSettings {
  /** Default: a new one. */
  readonly id?: string;
  readonly queue?: string;
  /**
   * When a run of that id is open: "fail" (default), "existing" to get that one, "terminate" to end it and
   * start anew.
   */
  readonly ifRunning?: "fail" | "existing" | "terminate";
  /**
   * When runs of that id have ended: "start" another (default), "start unless completed", "fail", or
   * "existing" to get the latest.
   */
  readonly ifEnded?: "start" | "start unless completed" | "fail" | "existing";
  readonly memo?: Readonly<Record<string, unknown>>;
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
  /** The time limit of all runs together, and of one run. */
  readonly timeout?: Duration;
  readonly runTimeout?: Duration;
  /** The start is delayed by this long. */
  readonly delay?: Duration;
  /** Only workers of this build run it. */
  readonly build?: string;
}

export interface UpdateOptions {
  /** The same id for every attempt at one update. Default: a new one. */
  readonly id?: string;
  /** Stops waiting for the answer; the update itself continues. */
  readonly signal?: AbortSignal;
}

export interface RunDescription {
  readonly workflowId: string;
  readonly runId: string;
  readonly type: string;
  readonly queue: string;
  readonly status: RunStatus;
  readonly startedAt: number;
  readonly closedAt: number | undefined;
  readonly historyEvents: number;
  readonly historyBytes: number;
  /** The run is open, and its history is so long that it should continue as new. */
  readonly continueAsNewSuggested: boolean;
  readonly memo: Readonly<Record<string, unknown>>;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  /** The error that blocks the run's task. */
  readonly blocked: string | undefined;
  readonly attempt: number;
  readonly stickyWorker: string | undefined;
  readonly stickyUntil: number | undefined;
}

export interface RunHistoryEvent {
  readonly number: number;
  readonly at: number;
  readonly event: HistoryEvent;
}

export interface WorkflowList {
  readonly runs: readonly RunDescription[];
  /** The cursor of the next page; undefined: this was the last page. */
  readonly before: number | undefined;
}

export type WorkflowQuery = Partial<Omit<RunQuery, "namespace">>;

/**
 * One workflow, by its id. A message to a run that was continued as new goes to the run that continues it.
 */
export interface WorkflowHandle<Result> {
  readonly id: string;
  /** One run of the workflow; undefined: the open one, or else the latest. */
  readonly runId: string | undefined;
  /** Waits for the end. Throws the error of a run that failed. */
  result(options?: { readonly signal?: AbortSignal; readonly timeout?: Duration }): Promise<Result>;
  signal<Input = unknown, Name extends AnySignal = SignalName<Input> | string>(
    name: Name,
    ...input: SignalInput<Input, Name>
  ): Promise<void>;
  query<Answer = unknown, Input = unknown, Name extends AnyQuery = QueryName<Answer, Input> | string>(
    name: Name,
    ...input: QueryInput<Input, Name>
  ): Promise<QueryAnswer<Answer, Name>>;
  update<Answer = unknown, Input = unknown, Name extends AnyUpdate = UpdateName<Answer, Input> | string>(
    name: Name,
    ...args: UpdateArguments<Input, Name, UpdateOptions>
  ): Promise<UpdateAnswer<Answer, Name>>;
  /** Requests cancellation; the workflow's code decides how to end. */
  cancel(reason?: string): Promise<void>;
  /** Ends the run now, without running its code. */
  terminate(reason?: string): Promise<void>;
  describe(): Promise<RunDescription>;
  history(): Promise<RunHistoryEvent[]>;
}
