// What the code around workflows gives when it starts them, and what it gets: types alone.
import type { Duration } from "../../kernel/durations.ts";
import type { Chosen, InputField, InputOptions } from "../../kernel/input-types.ts";
import type { RunQuery, RunStatus } from "../../ports/workflows.ts";
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

/** What a workflow is started with. One without an input may be started without one. */
export type StartOptions<Input> = StartSettings & InputField<Input>;

export interface StartSettings {
  /** Default: a new one. */
  readonly id?: string;
  readonly queue?: string;
  /** When a run of that id is open: "fail" (default), "existing" to get that one, "terminate" to end it and start anew. */
  readonly ifRunning?: "fail" | "existing" | "terminate";
  /** When runs of that id have ended: "start" another (default), "start unless completed", "fail", or "existing" to get the latest. */
  readonly ifEnded?: "start" | "start unless completed" | "fail" | "existing";
  readonly memo?: Readonly<Record<string, unknown>>;
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
  /** All runs of it together, and one run, may take so long. */
  readonly timeout?: Duration;
  readonly runTimeout?: Duration;
  /** It begins so much later. */
  readonly delay?: Duration;
  /** Only workers of this build run it. */
  readonly build?: string;
}

export interface UpdateOptions {
  /** The same for every attempt at one update. Default: a new one. */
  readonly id?: string;
  /** Ends the waiting for its answer; the update itself goes on. */
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
  /** It is open, and its history so long that it should continue as new. */
  readonly continueAsNewSuggested: boolean;
  readonly memo: Readonly<Record<string, unknown>>;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  /** Why its worker could not go on with it. */
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
  /** For the next page; undefined: this was the last one. */
  readonly before: number | undefined;
}

export type WorkflowQuery = Partial<Omit<RunQuery, "namespace">>;

/** One workflow, by its id. What is said to a run that was continued as new since is said to the one that continues it. */
export interface WorkflowHandle<Result> {
  readonly id: string;
  /** A certain run of it; undefined: the open one, or else the latest. */
  readonly runId: string | undefined;
  /** Waits for its end. Throws what it ended with. */
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
  /** Asks it to end. What it does about it is up to it. */
  cancel(reason?: string): Promise<void>;
  /** Ends it, now, whatever its code says. */
  terminate(reason?: string): Promise<void>;
  describe(): Promise<RunDescription>;
  history(): Promise<RunHistoryEvent[]>;
}
