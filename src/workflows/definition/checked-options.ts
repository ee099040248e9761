// Checks the options of starts, queries and handles at run time, before any effect. Typed callers get the
// same checks from the compiler.
import { LimpetError } from "../../kernel/errors.ts";
import { canBeKept, textProblem } from "../../kernel/names.ts";
import type { StartOptions, WorkflowQuery } from "../client/workflow-handle.ts";
import { namesProblem } from "./option-names.ts";

const IF_RUNNING = ["fail", "existing", "terminate"];
const IF_ENDED = ["start", "start unless completed", "fail", "existing"];
const STATUSES = ["running", "completed", "failed", "cancelled", "terminated", "timed out", "continued"];

const START_NAMES: Record<keyof StartOptions<unknown>, true> = {
  id: true,
  input: true,
  queue: true,
  build: true,
  ifRunning: true,
  ifEnded: true,
  memo: true,
  attributes: true,
  timeout: true,
  runTimeout: true,
  delay: true,
};
const QUERY_NAMES: Record<keyof WorkflowQuery, true> = {
  workflowId: true,
  prefix: true,
  type: true,
  status: true,
  queue: true,
  attributes: true,
  startedFrom: true,
  startedBefore: true,
  isBlocked: true,
  before: true,
  limit: true,
};

/** Throws OPTION_INVALID. */
export function checkStart(options: StartOptions<unknown>): void {
  if (!isObject(options)) throw invalid("the options of a start", options, "an object such as { id, input }");
  checkNames("the options of a start", options, START_NAMES);
  oneOf("ifRunning", options.ifRunning, IF_RUNNING);
  oneOf("ifEnded", options.ifEnded, IF_ENDED);
  for (const name of ["memo", "attributes"] as const) {
    if (options[name] !== undefined && !isObject(options[name])) throw invalid(name, options[name], "an object");
  }
  if (options.build !== undefined && textProblem(options.build) !== undefined) {
    throw invalid("build", options.build, "the name of a build");
  }
}

/** Throws OPTION_INVALID: a misspelt filter would match every run. */
export function checkQuery(query: WorkflowQuery): void {
  checkNames("the query for workflows", query, QUERY_NAMES);
  const { status, limit, before, attributes, isBlocked } = query;
  oneOf("status", status, STATUSES);
  for (const name of ["workflowId", "prefix", "type", "queue"] as const) {
    const text: unknown = query[name];
    if (text === undefined || (typeof text === "string" && canBeKept(text))) continue;
    throw invalid(name, text, "a text, without a NUL");
  }
  for (const name of ["startedFrom", "startedBefore"] as const) {
    if (query[name] !== undefined && !Number.isFinite(query[name])) {
      throw invalid(name, query[name], "a moment, in milliseconds since 1970");
    }
  }
  if (isBlocked !== undefined && typeof isBlocked !== "boolean") throw invalid("isBlocked", isBlocked, "true or false");
  if (attributes !== undefined && !isObject(attributes)) throw invalid("attributes", attributes, "an object");
  for (const [name, value] of Object.entries(attributes ?? {})) {
    const isPlain = typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
    if (!isPlain || !canBeKept(name))
      throw invalid(`attributes.${name}`, value, "a text, a finite number, true or false");
  }
  if (limit !== undefined && (!Number.isSafeInteger(limit) || limit < 1))
    throw invalid("limit", limit, "a whole number from 1");
  if (before !== undefined && !Number.isSafeInteger(before))
    throw invalid("before", before, "the cursor of the previous page");
}

/** Checks the options of a call on a handle. Throws OPTION_INVALID. */
export function checkHandleOptions(call: string, options: object, known: object): void {
  checkNames(`options of ${call}()`, options, known);
}

function checkNames(what: string, given: object, known: object): void {
  const problem = namesProblem(given, known);
  if (problem !== undefined) throw new LimpetError("OPTION_INVALID", `${what}: ${problem}`);
}

function oneOf(name: string, value: string | undefined, known: readonly string[]): void {
  if (value !== undefined && !known.includes(value)) throw invalid(name, value, `one of ${known.join(", ")}`);
}

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value);

const invalid = (name: string, value: unknown, known: string): LimpetError =>
  new LimpetError("OPTION_INVALID", `${name} must be ${known}; got ${shown(value)}`);

const shown = (value: unknown): string => (typeof value === "string" ? `"${value}"` : String(value));
