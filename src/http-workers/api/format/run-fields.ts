// Encodes the status, the memo and the search attributes of a run for the worker protocol. Pure.
import { fromWire } from "../../../kernel/values.ts";
import type { RunStatus, StoredRun } from "../../../ports/store/workflows.ts";
import type { Wire } from "../../../workflows/engine/events.ts";

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

/**
 * A memo or attributes as plain JSON. Values that JSON lacks become text; undefined becomes an empty object.
 */
export function displayJson(wire: Wire | undefined): unknown {
  if (wire === undefined) return {};
  return JSON.parse(JSON.stringify(fromWire(structuredClone(wire)), plainly) ?? "null");
}

function plainly(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (value instanceof Map) return Object.fromEntries(value);
  if (value instanceof Set) return [...value];
  return value;
}
