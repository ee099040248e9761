// Maps the status of a run to the terms of the worker protocol. Pure.
import type { RunStatus, StoredRun } from "../../../ports/store/workflows.ts";

/** The protocol has no status of its own for timed-out or continued runs. */
export function statusWord({
  status,
  task,
}: {
  readonly status: RunStatus;
  readonly task?: StoredRun["task"];
}): string {
  switch (status) {
    case "running":
      return task?.state === "idle" ? "waiting" : "running";
    case "timed out":
      return "failed";
    case "continued":
      return "completed";
    default:
      return status;
  }
}

export function bucketWord(status: RunStatus): "running" | "completed" | "failed" {
  if (status === "running") return "running";
  return status === "completed" || status === "continued" ? "completed" : "failed";
}
