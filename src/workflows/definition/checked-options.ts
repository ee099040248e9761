// Checks the options of starts, queries and handles at run time, before any effect. Typed callers get the
// same checks from the compiler.
import { mustBe } from "../../kernel/check.ts";
import { LimpetError } from "../../kernel/errors.ts";
import { canBeKept, textProblem } from "../../kernel/names.ts";
import { didYouMean } from "../../kernel/nearest.ts";
import type { StartOptions, WorkflowQuery } from "../client/workflow-handle.ts";

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
  if (!isObject(options)) throw mustBe("the options of a start", "an object such as { id, input }", options);
  checkNames("the options of a start", options, START_NAMES);
  oneOf("ifRunning", options.ifRunning, IF_RUNNING);
  oneOf("ifEnded", options.ifEnded, IF_ENDED);
  for (const name of ["memo", "attributes"] as const) {
    if (options[name] !== undefined && !isObject(options[name])) throw mustBe(name, "an object", options[name]);
  }
  if (options.build !== undefined && textProblem(options.build) !== undefined) {
    throw mustBe("build", "the name of a build", options.build);
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
    throw mustBe(name, "a text, without a NUL", text);
  }
  for (const name of ["startedFrom", "startedBefore"] as const) {
    if (query[name] !== undefined && !Number.isFinite(query[name])) {
      throw mustBe(name, "a moment, in milliseconds since 1970", query[name]);
    }
  }
  if (isBlocked !== undefined && typeof isBlocked !== "boolean") throw mustBe("isBlocked", "true or false", isBlocked);
  if (attributes !== undefined && !isObject(attributes)) throw mustBe("attributes", "an object", attributes);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    const isPlain = typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
    if (!isPlain || !canBeKept(name))
      throw mustBe(`attributes.${name}`, "a text, a finite number, true or false", value);
  }
  if (limit !== undefined && (!Number.isSafeInteger(limit) || limit < 1))
    throw mustBe("limit", "a whole number from 1", limit);
  if (before !== undefined && !Number.isSafeInteger(before))
    throw mustBe("before", "the cursor of the previous page", before);
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
  if (value !== undefined && !known.includes(value)) throw mustBe(name, `one of ${known.join(", ")}`, value);
}

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * The problem with the names of the given options, as the end of a sentence; undefined: none. A misspelt
 * option would have no effect, and the mistake would go unnoticed.
 */
export function namesProblem(given: unknown, known: object): string | undefined {
  if (typeof given !== "object" || given === null) return `${String(given)} is no object`;
  for (const name in given) {
    if (!Object.hasOwn(known, name)) return `there is no "${name}"${didYouMean(name, Object.keys(known))}`;
  }
  return undefined;
}
