// Maps the end of a run to the outcome that its row records, for local and remote workers. Pure.
import type { TaskFate } from "../../ports/store/workflows.ts";
import { writeError, writeResult } from "../definition/messages.ts";
import type { End } from "../engine/events.ts";

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
