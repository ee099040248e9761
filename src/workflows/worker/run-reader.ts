// Reads stored runs for clients: rows, ends and histories.
import { LimpetError } from "../../kernel/errors.ts";
import { deserializeError } from "../../kernel/serialized-error.ts";
import { fromWire } from "../../kernel/values.ts";
import type { StoredRun, Workflows } from "../../ports/store/workflows.ts";
import type { ClosedRun } from "../client/end-watch.ts";
import type { RunDescription, RunHistoryEvent } from "../client/workflow-handle.ts";
import type { AttributeValue } from "../definition/context.ts";
import { readEventBatch } from "../engine/events.ts";
import { isContinueSuggested } from "../engine/history-budget.ts";

export const HISTORY_BYTES = 4 * 1024 * 1024;

export class RunReader {
  readonly #store: Workflows;
  readonly #namespace: string;

  constructor(store: Workflows, namespace: string) {
    this.#store = store;
    this.#namespace = namespace;
  }

  /** The named run; or the open one, or else the latest. */
  async find(workflowId: string, runId: string | undefined): Promise<StoredRun> {
    const run = await this.#store.find({ namespace: this.#namespace, workflowId, runId });
    if (run !== undefined) return run;
    const which = runId === undefined ? "" : ` with a run ${runId}`;
    throw new LimpetError("WORKFLOW_UNKNOWN", `there is no workflow ${workflowId}${which}`);
  }

  /** As `find`; if other runs continued it, the last of them. */
  async latest(workflowId: string, runId: string | undefined): Promise<StoredRun> {
    for (let run = await this.find(workflowId, runId); ; ) {
      const next = nextOf(run);
      if (next === undefined) return run;
      run = await this.find(workflowId, next);
    }
  }

  async history(workflowId: string, runId: string | undefined): Promise<RunHistoryEvent[]> {
    const run = await this.find(workflowId, runId);
    const events: RunHistoryEvent[] = [];
    for (let after = 0; after < run.events; ) {
      const { batches } = await this.#store.history(run.ref, after, HISTORY_BYTES);
      if (batches.length === 0) break;
      for (const { from, count, data } of batches) {
        const step = readEventBatch(data);
        for (const [i, event] of step.events.entries()) events.push({ number: from + i, at: step.at, event });
        after = from + count - 1;
      }
    }
    return events;
  }
}

/** The run that continues a closed one. */
export const nextOf = ({ status, result }: { readonly status: string; readonly result?: string }) =>
  status === "continued" && result !== undefined ? (JSON.parse(result).result as string) : undefined;

export function readEnd(workflowId: string, { status, result }: ClosedRun): unknown {
  const { result: value, error } = JSON.parse(result) as { result?: unknown; error?: unknown };
  if (status === "completed") return fromWire(value);
  const cause = deserializeError(error);
  switch (status) {
    case "cancelled":
      throw new LimpetError("WORKFLOW_CANCELLED", `workflow ${workflowId} was cancelled`, { cause });
    case "terminated":
      throw new LimpetError("WORKFLOW_TERMINATED", cause?.message ?? `workflow ${workflowId} was terminated`, {
        cause,
      });
    case "timed out":
      throw new LimpetError("WORKFLOW_TIMED_OUT", `workflow ${workflowId} took too long`, { cause });
    default:
      throw new LimpetError("WORKFLOW_FAILED", `workflow ${workflowId} failed: ${cause?.message}`, { cause });
  }
}

export function describeRun(run: StoredRun): RunDescription {
  return {
    workflowId: run.workflowId,
    runId: run.runId,
    type: run.type,
    queue: run.queue,
    status: run.status,
    startedAt: run.startedAt,
    closedAt: run.closedAt,
    historyEvents: run.events,
    historyBytes: run.bytes,
    continueAsNewSuggested: run.status === "running" && isContinueSuggested(run),
    memo: fromWire(JSON.parse(run.memo)) as Record<string, unknown>,
    attributes: fromWire(JSON.parse(run.attributes)) as Record<string, AttributeValue>,
    blocked: run.task?.problem,
    attempt: run.task?.attempt ?? 0,
    stickyWorker: run.stickyWorker,
    stickyUntil: run.stickyUntil,
  };
}
