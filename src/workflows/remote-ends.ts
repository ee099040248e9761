// How runs whose code is elsewhere end: what their row keeps, and what of their inbox goes on with the next run. Pure.
import type { Arrival, StoredArrival, TaskFate } from "../ports/workflows.ts";
import type { End } from "./events.ts";
import { readMessage, writeError, writeResult } from "./messages.ts";
import type { RemoteRun } from "./remote-run.ts";

export function closeBy(end: End): Extract<TaskFate, { kind: "close" }> {
  switch (end.kind) {
    case "WorkflowCompleted":
      return { kind: "close", status: "completed", result: writeResult(end.result) };
    case "WorkflowContinuedAsNew":
      return { kind: "close", status: "continued", result: writeResult(end.runId) };
    case "WorkflowCancelled":
      return { kind: "close", status: "cancelled", result: writeError(end.error) };
    case "WorkflowFailed":
      return { kind: "close", status: "failed", result: writeError(end.error) };
  }
}

/** Signals and updates that came too late for this run are heard by the next. */
export function carriedOver(
  inbox: readonly StoredArrival[],
  end: End,
  { workflowId }: RemoteRun,
  namespace: string,
): Arrival[] {
  if (end.kind !== "WorkflowContinuedAsNew") return [];
  const isForAnyRun = ({ data }: StoredArrival): boolean =>
    ["SignalReceived", "UpdateRequested", "CancelRequested"].includes(readMessage(data).message.kind);
  return inbox.filter(isForAnyRun).map(({ key, data }) => ({ namespace, workflowId, runId: end.runId, key, data }));
}
