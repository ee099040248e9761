// Parses the queries that list workflows or their events, and encodes the cursors between pages. Pure.
import { invalidArgument } from "../../../kernel/check.ts";
import { LimpetError } from "../../../kernel/errors.ts";
import { LIMITS } from "../../../kernel/limits.ts";
import { canBeKept, nameProblem } from "../../../kernel/names.ts";
import type { RunStatus } from "../../../ports/store/workflows.ts";
import type { RunName, WorkflowPage, WorkflowPageQuery } from "../../../ports/workflow-admin.ts";
import { checked, checkWorkflowId } from "../../../workflows/definition/definition.ts";
import { formatWords, parseFlag, parseLimit, parseParameters, parseWords } from "./listing.ts";

const PARAMETERS = [
  ...(["id", "prefix", "type", "status", "queue", "attributes", "blocked"] as const),
  ...(["startedFrom", "startedBefore", "after", "limit"] as const),
] as const;
const STATUSES: readonly RunStatus[] = [
  ...(["running", "completed", "failed", "cancelled", "terminated", "timed out", "continued"] as const),
];
/** Number of history steps in an answer: the default and the maximum. */
const STEPS = 100;
const MOST_STEPS = 100_000;
const CURSOR_BYTES = [20];

export function parseWorkflowQuery(query: string): WorkflowPageQuery {
  const given = parseParameters(query, PARAMETERS);
  const workflowId = given.get("id");
  if (workflowId !== undefined) checkWorkflowId(workflowId);
  const type = given.get("type");
  if (type !== undefined) checked("workflow", type);
  const queue = given.get("queue");
  if (queue !== undefined) checked("queue", queue);
  return {
    workflowId,
    type,
    queue,
    prefix: parsePrefix(given.get("prefix")),
    status: parseStatus(given.get("status")),
    attributes: parseAttributes(given.get("attributes")),
    isBlocked: parseFlag(given.get("blocked"), "blocked"),
    startedFrom: parseMoment(given.get("startedFrom"), "startedFrom"),
    startedBefore: parseMoment(given.get("startedBefore"), "startedBefore"),
    before: parseCursor(given.get("after")),
    limit: parseLimit(given.get("limit")),
  };
}

export function parseLook(query: string): { readonly runId: RunName["runId"]; readonly steps: number } {
  const given = parseParameters(query, ["run", "steps"]);
  const steps = given.get("steps");
  if (steps !== undefined && !/^\d{1,6}$/.test(steps))
    throw invalidArgument("query parameter steps must be a whole number");
  const most = Math.min(Math.max(Number(steps ?? STEPS), 1), MOST_STEPS);
  return { runId: parseRun(given.get("run")), steps: most };
}

export function parseEventsQuery(query: string): { runId: RunName["runId"]; after: number; limit: number } {
  const given = parseParameters(query, ["run", "after", "limit"]);
  return {
    runId: parseRun(given.get("run")),
    after: parseCursor(given.get("after")) ?? 0,
    limit: parseLimit(given.get("limit")),
  };
}

function parseRun(text: string | undefined): string | undefined {
  const problem = text === undefined ? undefined : nameProblem(text, LIMITS.idBytes);
  if (problem !== undefined) throw new LimpetError("NAME_INVALID", `run ${problem}`);
  return text;
}

function parsePrefix(prefix: string | undefined): string | undefined {
  // A prefix is valid when an id could begin with it.
  const problem = prefix === undefined ? undefined : nameProblem(`${prefix}x`, LIMITS.idBytes + 1);
  if (problem !== undefined) throw new LimpetError("NAME_INVALID", `prefix ${problem}`);
  return prefix;
}

function parseStatus(text: string | undefined): RunStatus | undefined {
  if (text === undefined) return undefined;
  const status = STATUSES.find((each) => each === text);
  if (status === undefined) throw invalidArgument(`query parameter status must be one of ${STATUSES.join(", ")}`);
  return status;
}

function parseAttributes(text: string | undefined): WorkflowPageQuery["attributes"] {
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  const kinds = ["string", "number", "boolean"];
  const isFine = ([name, each]: [string, unknown]): boolean => canBeKept(name) && kinds.includes(typeof each);
  if (!isObject || !Object.entries(value as object).every(isFine)) {
    throw invalidArgument(
      'query parameter attributes must be an object of texts, numbers and booleans, as {"customer":"ali"}',
    );
  }
  return value as WorkflowPageQuery["attributes"];
}

function parseMoment(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined;
  const moment = /^\d{1,15}$/.test(text) ? Number(text) : Date.parse(text);
  if (Number.isNaN(moment)) {
    throw invalidArgument(
      `query parameter ${name} must be a moment, as 2026-03-01T09:00:00Z or milliseconds since 1970`,
    );
  }
  return moment;
}

export function travellingWorkflows({ now, workflows, next }: WorkflowPage) {
  return { now, workflows, next: formatRunCursor(next) };
}

export const formatRunCursor = (place: number | undefined): string | undefined =>
  place === undefined ? undefined : formatWords([String(place)]);

function parseCursor(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [word] = parseWords(text, CURSOR_BYTES);
  if (/^\d{1,15}$/.test(word!)) return Number(word);
  throw invalidArgument("query parameter after must be the `next` of an earlier page");
}
