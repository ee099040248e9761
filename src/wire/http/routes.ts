// Finds the route of a request line. Pure.
// The raw path is split before anything is decoded, and nothing is normalised: `%2e%2e` is the name `..` and
// `%2F` is a slash inside a name, and both are rejected as names. A path never means another path.
import { isLimpetError, LimpetError } from "../../kernel/errors.ts";
import { checkId, checkMethod, checkReminderName, checkType } from "../../kernel/names.ts";
import { checkWorkflowId } from "../../workflows/definition/definition.ts";

export type Route =
  | { readonly kind: "call"; readonly type: string; readonly id: string; readonly method: string }
  /** The body names the actor. */
  | { readonly kind: "message"; readonly type: string; readonly method: string }
  /** `hasBody`: the client reads the answer as JSON. */
  | { readonly kind: "health"; readonly hasBody?: true }
  /** The process answers, whatever the state of its host. */
  | { readonly kind: "live" }
  | { readonly kind: "metadata" }
  | { readonly kind: "metrics" }
  | { readonly kind: "list"; readonly query: string }
  | { readonly kind: "explain"; readonly type: string; readonly id: string }
  | { readonly kind: "cluster" }
  | { readonly kind: "where"; readonly type: string; readonly id: string }
  | { readonly kind: "sticky"; readonly query: string }
  | { readonly kind: "holder"; readonly type: string; readonly id: string }
  | { readonly kind: "shardedTypes" }
  | { readonly kind: "shards"; readonly type: string }
  | { readonly kind: "steerShards"; readonly act: ShardAct }
  | {
      readonly kind: "reminder";
      readonly verb: string;
      readonly type: string;
      readonly id: string;
      readonly name: string;
    }
  | { readonly kind: "reminders"; readonly query: string }
  | { readonly kind: "deadReminders"; readonly query: string }
  | { readonly kind: "reminderCounts" }
  | { readonly kind: "workflows"; readonly query: string }
  | { readonly kind: "workflowCounts" }
  | { readonly kind: "workers" }
  | { readonly kind: "workflow"; readonly workflowId: string; readonly query: string }
  | { readonly kind: "workflowEvents"; readonly workflowId: string; readonly query: string }
  | { readonly kind: "steerWorkflow"; readonly act: WorkflowAct }
  | { readonly kind: "drain" }
  | { readonly kind: "release" }
  | { readonly kind: "retryReminder" }
  | { readonly kind: "dropReminder" }
  /** Workflows over HTTP have their own table of paths (http-workers/api/routes.ts). */
  | { readonly kind: "api"; readonly verb: string; readonly path: string; readonly query: string };

export type RouteKind = Route["kind"];

const SHARD_ACTS = ["move", "pause", "resume", "allocate"] as const;
export type ShardAct = (typeof SHARD_ACTS)[number];

const WORKFLOW_ACTS = ["start", "signal", "query", "update", "cancel", "terminate", "wake"] as const;
export type WorkflowAct = (typeof WORKFLOW_ACTS)[number];

export type Routed =
  | { readonly kind: RouteKind; readonly route: Route }
  | { readonly kind: RouteKind | "none"; readonly refused: LimpetError; readonly allow?: string };

const ALL_VERBS = ["GET", "POST", "PUT", "DELETE"];
const LOOK_VERBS = ["GET"];
/** A message has a body. */
const MESSAGE_VERBS = ["POST", "PUT"];
const ACT_VERBS = ["POST"];
const ACTS: readonly RouteKind[] = [
  ...(["drain", "release", "retryReminder", "dropReminder", "steerWorkflow"] as const),
  "steerShards",
];

function verbsOf(kind: RouteKind): readonly string[] {
  if (kind === "message") return MESSAGE_VERBS;
  if (kind === "call" || kind === "reminder" || kind === "api") return ALL_VERBS;
  return ACTS.includes(kind) ? ACT_VERBS : LOOK_VERBS;
}

export function findRoute(verb: string, target: string): Routed {
  // Everything else in a URL must be percent-encoded; this also rejects `http://…` and `*` as targets.
  if (!/^\/[\x21-\x7e]*$/.test(target)) {
    const problem = "the request target must be a path of printable ASCII; percent-encode everything else";
    return { kind: "none", refused: new LimpetError("REQUEST_INVALID", problem) };
  }
  const mark = target.indexOf("?");
  const path = mark === -1 ? target : target.slice(0, mark);
  const query = mark === -1 ? "" : target.slice(mark + 1);

  const raw = match(verb, path.split("/"), query);
  if (raw === undefined) {
    return { kind: "none", refused: new LimpetError("ROUTE_UNKNOWN", "no route has this path") };
  }
  const verbs = verbsOf(raw.kind);
  if (!verbs.includes(verb)) {
    const allow = verbs.join(", ");
    const refused = new LimpetError("VERB_NOT_ALLOWED", `${verb} is not possible here; use ${allow}`);
    return { kind: raw.kind, refused, allow };
  }
  try {
    return { kind: raw.kind, route: decodeNames(raw) };
  } catch (error) {
    if (isLimpetError(error)) return { kind: raw.kind, refused: error };
    throw error;
  }
}

/** The route with its names still percent-encoded. `parts[0]` is the empty text before the first slash. */
function match(verb: string, parts: readonly string[], query: string): Route | undefined {
  const [, version, area, a, b, c, d] = parts;
  if (parts.length === 2) return matchTop(version!);
  if (version === "api") return matchApi(verb, parts, query);
  if (version !== "v1.0") return undefined;
  if (area === "actors" && parts.length === 7) {
    if (c === "method") return { kind: "call", type: a!, id: b!, method: d! };
    if (c === "reminders") return { kind: "reminder", verb, type: a!, id: b!, name: d! };
  }
  if (area === "actors" && parts.length === 6 && b === "method") return { kind: "message", type: a!, method: c! };
  if (area === "healthz" && (parts.length === 3 || (parts.length === 4 && a === "outbound"))) return { kind: "health" };
  if (area === "metadata" && parts.length === 3) return { kind: "metadata" };
  if (area === "inspect") return matchLook(parts, query);
  if (area === "control") return matchAct(parts);
  return undefined;
}

/** Paths without a version, which common tools expect. */
function matchTop(name: string): Route | undefined {
  if (name === "metrics") return { kind: "metrics" };
  if (name === "livez") return { kind: "live" };
  return name === "readyz" ? { kind: "health" } : undefined;
}

function matchApi(verb: string, [, , ...parts]: readonly string[], query: string): Route | undefined {
  const path = parts.join("/");
  if (path === "health" || path === "ready") return { kind: "health", hasBody: true };
  return { kind: "api", verb, path, query };
}

function matchLook([, , , a, b, c, ...more]: readonly string[], query: string): Route | undefined {
  if (more.length > 0) return undefined;
  const names = b !== undefined && c !== undefined ? { type: b, id: c } : undefined;
  const isWhole = b === undefined;
  switch (a) {
    case "actors":
      return isWhole ? { kind: "list", query } : names && { kind: "explain", ...names };
    case "cluster":
      return isWhole ? { kind: "cluster" } : undefined;
    case "where":
      return names && { kind: "where", ...names };
    case "sticky":
      return isWhole ? { kind: "sticky", query } : names && { kind: "holder", ...names };
    case "shards":
      if (isWhole) return { kind: "shardedTypes" };
      return c === undefined ? { kind: "shards", type: b } : undefined;
    case "reminders":
      if (isWhole) return { kind: "reminders", query };
      if (names !== undefined) return undefined;
      return b === "dead" ? { kind: "deadReminders", query } : b === "counts" ? { kind: "reminderCounts" } : undefined;
    case "workflows":
      if (isWhole) return { kind: "workflows", query };
      if (names !== undefined) return undefined;
      return b === "counts" ? { kind: "workflowCounts" } : b === "workers" ? { kind: "workers" } : undefined;
    case "workflow":
      if (b === undefined) return undefined;
      if (c === undefined) return { kind: "workflow", workflowId: b, query };
      return c === "events" ? { kind: "workflowEvents", workflowId: b, query } : undefined;
    default:
      return undefined;
  }
}

function matchAct([, , , a, b, ...more]: readonly string[]): Route | undefined {
  if (more.length > 0) return undefined;
  if (b === undefined) return a === "drain" || a === "release" ? { kind: a } : undefined;
  if (a === "workflows") {
    const act = WORKFLOW_ACTS.find((each) => each === b);
    return act && { kind: "steerWorkflow", act };
  }
  if (a === "shards") {
    const act = SHARD_ACTS.find((each) => each === b);
    return act && { kind: "steerShards", act };
  }
  if (a !== "reminders") return undefined;
  return b === "retry" ? { kind: "retryReminder" } : b === "drop" ? { kind: "dropReminder" } : undefined;
}

function decodeNames(raw: Route): Route {
  if ("workflowId" in raw) {
    const workflowId = decode(raw.workflowId, "workflow id");
    checkWorkflowId(workflowId);
    return { ...raw, workflowId };
  }
  if (!("type" in raw)) return raw;
  const type = decode(raw.type, "actor type");
  checkType(type);
  if (raw.kind === "shards") return { kind: raw.kind, type };
  if (raw.kind === "message") return { kind: raw.kind, type, method: decodeMethod(raw) };
  const id = decode(raw.id, "actor id");
  checkId(id);
  if (raw.kind === "reminder") {
    const name = decode(raw.name, "reminder name");
    checkReminderName(name);
    return { kind: raw.kind, verb: raw.verb, type, id, name };
  }
  if (raw.kind !== "call") return { kind: raw.kind, type, id };
  return { kind: raw.kind, type, id, method: decodeMethod(raw) };
}

function decodeMethod(raw: { readonly method: string }): string {
  const method = decode(raw.method, "method");
  checkMethod(method);
  return method;
}

export function decode(text: string, what: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new LimpetError("NAME_INVALID", `${what} is not percent-encoded UTF-8`);
  }
}
