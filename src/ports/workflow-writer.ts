// Workflows as actors use them: started and signalled in the transaction of a turn.
import type { Duration } from "../kernel/durations.ts";
import type { InboxMessage, RunStart } from "./store/workflows.ts";

/** The options of a workflow that an actor starts. The workflows module validates them. */
export interface TurnStart {
  /** Default: a new one. */
  readonly id?: string;
  readonly input?: unknown;
  readonly queue?: string;
  readonly memo?: Readonly<Record<string, unknown>>;
  readonly attributes?: Readonly<Record<string, string | number | boolean | null>>;
  /** Time limits of all runs together, and of one run. */
  readonly timeout?: Duration;
  readonly runTimeout?: Duration;
  /** The delay before it begins. */
  readonly delay?: Duration;
  /** Only workers of this build run it. */
  readonly build?: string;
}

export interface WorkflowWriter {
  /** Returns the write. A running workflow of that id stays, and nothing is started. */
  start(type: string, options: TurnStart): RunStart;
  signal(workflowId: string, name: string, input: unknown): InboxMessage;
  cancel(workflowId: string, reason: string): InboxMessage;
  /** Writes them in their own transaction. */
  write(starts: readonly RunStart[], messages: readonly InboxMessage[]): Promise<void>;
  /** The writes are durable: ready tasks need no search. */
  written(): void;
}
