// What becomes of a run, in the words of others. Pure.
import type { RunStatus, StoredRun } from "../../../ports/workflows.ts";

/** They know neither time limits nor continuing as statuses of their own. */
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
