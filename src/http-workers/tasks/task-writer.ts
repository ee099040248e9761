// Writes the completions of remote workers' tasks, and drops the cached run when a write fails.
import type { Affinity, CompletionOutcome, StoredRun, TaskCompletion, Workflows } from "../../ports/store/workflows.ts";
import type { RunState } from "../../workflows/history/run-state.ts";
import type { RunStates } from "../../workflows/history/run-states.ts";

export interface TaskWriterDeps {
  readonly store: Workflows;
  readonly runs: RunStates;
  /** Called after the write is durable. */
  written(completion: TaskCompletion, outcome: Extract<CompletionOutcome, { kind: "done" }>, runId: string): void;
}

export class TaskWriter {
  readonly #deps: TaskWriterDeps;

  constructor(deps: TaskWriterDeps) {
    this.#deps = deps;
  }

  /** False: the lease is lost, and nothing was written. */
  async write(run: RunState, completion: TaskCompletion): Promise<boolean> {
    const { store, runs } = this.#deps;
    try {
      const [outcome] = await store.complete([completion]);
      if (outcome!.kind === "done") {
        this.#deps.written(completion, outcome!, run.started.runId);
        return true;
      }
    } catch (error) {
      runs.forget(run.ref);
      throw error;
    }
    runs.forget(run.ref);
    return false;
  }
}

/** The rest of the time for which a worker keeps the run. */
export function affinityLeft({ stickyWorker, stickyUntil }: StoredRun, now: number): Affinity | undefined {
  if (stickyWorker === undefined || stickyUntil === undefined || stickyUntil <= now) return undefined;
  return { worker: stickyWorker, ms: stickyUntil - now };
}
