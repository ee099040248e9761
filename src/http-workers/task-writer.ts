// Writes the completions of remote workers' tasks, and drops the cached run when a write fails.
import type { Affinity, AppendOutcome, StoredRun, TaskCompletion, Workflows } from "../ports/store/workflows.ts";
import { type HistoryEvent, writeEventBatch } from "../workflows/engine/events.ts";
import type { RemoteRun } from "../workflows/history/run-state.ts";
import type { RemoteRuns } from "../workflows/history/run-states.ts";

export interface TaskWriterDeps {
  readonly store: Workflows;
  readonly runs: RemoteRuns;
  /** Called after the write is durable. */
  written(append: TaskCompletion, outcome: Extract<AppendOutcome, { kind: "done" }>, runId: string): void;
}

export class TaskWriter {
  readonly #deps: TaskWriterDeps;

  constructor(deps: TaskWriterDeps) {
    this.#deps = deps;
  }

  /** False: the lease is lost, and nothing was written. */
  async write(run: RemoteRun, append: TaskCompletion): Promise<boolean> {
    const { store, runs } = this.#deps;
    try {
      const [outcome] = await store.append([append]);
      if (outcome!.kind === "done") {
        this.#deps.written(append, outcome!, run.started.runId);
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

/** A completion with these events, and without any effect outside of its run. */
export function completionOf(
  { ref, token, last }: Pick<TaskCompletion, "ref" | "token" | "last">,
  events: readonly HistoryEvent[],
  at: number,
  { taken, fate }: Pick<TaskCompletion, "taken" | "fate">,
): TaskCompletion {
  return {
    ref,
    token,
    last,
    taken,
    fate,
    page: events.length === 0 ? undefined : writeEventBatch({ at, events }),
    affinity: undefined,
    attributes: undefined,
    memo: undefined,
    reminders: [],
    starts: [],
    arrivals: [],
  };
}

/** The rest of the time for which a worker keeps the run. */
export function affinityLeft({ stickyWorker, stickyUntil }: StoredRun, now: number): Affinity | undefined {
  if (stickyWorker === undefined || stickyUntil === undefined || stickyUntil <= now) return undefined;
  return { worker: stickyWorker, ms: stickyUntil - now };
}
