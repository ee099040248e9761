// Workflows, as actors ask for them: started and signalled in the transaction of a turn.
import type { Duration } from "../kernel/durations.ts";
import type { InboxMessage, RunStart } from "./store/workflows.ts";

/** What an actor may say of a workflow that it starts. What of it makes sense is decided in workflows/. */
export interface TurnStart {
  /** Default: a new one. */
  readonly id?: string | undefined;
  readonly input?: unknown;
  readonly queue?: string | undefined;
  readonly memo?: Readonly<Record<string, unknown>> | undefined;
  readonly attributes?: Readonly<Record<string, string | number | boolean | null>> | undefined;
  /** All runs of it together, and one run, may take so long. */
  readonly timeout?: Duration | undefined;
  readonly runTimeout?: Duration | undefined;
  /** It begins so much later. */
  readonly delay?: Duration | undefined;
  /** Only workers of this build run it. */
  readonly build?: string | undefined;
}

export interface WorkflowWriter {
  /** What is to be written. A workflow of that id that runs already stays, and nothing is started. */
  start(type: string, options: TurnStart): RunStart;
  signal(workflowId: string, name: string, input: unknown): InboxMessage;
  cancel(workflowId: string, reason: string): InboxMessage;
  /** Writes them without anything else. */
  write(starts: readonly RunStart[], arrivals: readonly InboxMessage[]): Promise<void>;
  /** They are durable: what is ready need not wait to be looked for. */
  written(): void;
}
