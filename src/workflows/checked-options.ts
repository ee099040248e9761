// What whoever starts or looks for workflows may say. Types say the same to those who use them; others hear of it here, and before
// anything has happened.
import { LimpetError } from "../kernel/errors.ts";
import type { StartOptions, WorkflowQuery } from "./workflow-handle.ts";

const IF_RUNNING = ["fail", "existing", "terminate"];
const IF_ENDED = ["start", "start unless completed", "fail", "existing"];
const STATUSES = ["running", "completed", "failed", "cancelled", "terminated", "timed out", "continued"];

/** Throws OPTION_INVALID. */
export function checkStart(options: StartOptions<unknown>): void {
  if (!isObject(options)) throw invalid("what a workflow is started with", options, "an object such as { id, input }");
  oneOf("ifRunning", options.ifRunning, IF_RUNNING);
  oneOf("ifEnded", options.ifEnded, IF_ENDED);
  for (const name of ["memo", "attributes"] as const) {
    if (options[name] !== undefined && !isObject(options[name])) throw invalid(name, options[name], "an object");
  }
  if (options.build !== undefined && (typeof options.build !== "string" || options.build === "")) {
    throw invalid("build", options.build, "the name of one");
  }
}

/** Throws OPTION_INVALID. */
export function checkQuery({ status, limit, before }: WorkflowQuery): void {
  oneOf("status", status, STATUSES);
  if (limit !== undefined && (!Number.isSafeInteger(limit) || limit < 1)) throw invalid("limit", limit, "1, 2, …");
  if (before !== undefined && !Number.isSafeInteger(before))
    throw invalid("before", before, "what the page before gave");
}

function oneOf(name: string, value: string | undefined, known: readonly string[]): void {
  if (value !== undefined && !known.includes(value)) throw invalid(name, value, known.join(", "));
}

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value);

const invalid = (name: string, value: unknown, known: string): LimpetError =>
  new LimpetError("OPTION_INVALID", `${name}: ${shown(value)} is none of what may be said, which is ${known}`);

const shown = (value: unknown): string => (typeof value === "string" ? `"${value}"` : String(value));
