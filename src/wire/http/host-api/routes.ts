// The routes of the host: calls, reminders, health, and the requests of operators. docs/http.md describes
// them for users.
import { LIMITS } from "../../../kernel/limits.ts";
import { checkId, checkMethod, checkReminderName, checkType } from "../../../kernel/names.ts";
import type { ServerHost } from "../../../ports/host-admin.ts";
import { checkWorkflowId } from "../../../workflows/definition/definition.ts";
import { emptyAnswer, errorAnswer, type HttpAnswer, jsonAnswer, textAnswer } from "../answers.ts";
import { parseDrain, parseRelease } from "../body.ts";
import { decodePercent, type HttpRoute, type NamesIn, type RouteGroup, VERBS } from "../route.ts";
import { callActor, callByMessage, describeHost, health } from "./handlers.ts";
import { adminHandler, type HostRequest, type HostRoute } from "./host-request.ts";
import {
  parseListQuery,
  parseReminderQuery,
  parseStickyQuery,
  travellingPage,
  travellingReminders,
} from "./listing.ts";
import { cancelReminder, dropReminder, retryReminder, setReminder, showReminder } from "./reminder-handlers.ts";
import { parseSteering, type ShardAct } from "./shards-body.ts";
import {
  readEventsRequest,
  readLook,
  readWorkflows,
  steerWorkflow,
  travellingEvents,
  type WorkflowAct,
} from "./workflow-handlers.ts";
import { travellingWorkflows } from "./workflow-query.ts";

type ActorPath = HostRequest<"type" | "id">;

type Entry<Path extends string> = Pick<HttpRoute, "label" | "summary"> &
  Partial<HttpRoute> & {
    readonly path: Path;
    readonly handler: (request: HostRequest<NamesIn<Path>>) => Promise<HttpAnswer> | HttpAnswer;
  };

const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";
const BODY = LIMITS.httpBodyBytes;
const CALL = { scope: "call", limits: { bodyBytes: BODY, time: "call" } } as const;
const PROBE = {
  scope: "health",
  limits: { bodyBytes: 0, time: "memory" },
  isServedWhenFull: true,
} as const;

const read = <Path extends string>(entry: Entry<Path>): HostRoute => ({
  verbs: ["GET"],
  limits: { bodyBytes: 0, time: "store" },
  scope: "read",
  ...entry,
});

const operate = <Path extends string>(entry: Entry<Path>): HostRoute => ({
  verbs: ["POST"],
  limits: { bodyBytes: BODY, time: "store" },
  scope: "operate",
  ...entry,
});

const shardAct = (act: ShardAct, summary: string): HostRoute =>
  operate({
    path: `/v1.0/control/shards/${act}`,
    label: "steerShards",
    summary,
    handler: adminHandler(async ({ exchange }) => parseSteering(act, await exchange.body())),
  });

const workflowAct = (act: WorkflowAct, summary: string, more: Partial<HttpRoute> = {}): HostRoute =>
  operate({
    path: `/v1.0/control/workflows/${act}`,
    label: "steerWorkflow",
    summary,
    handler: (http) => steerWorkflow(act, http),
    ...more,
  });

const REMINDER = "/v1.0/actors/{type}/{id}/reminders/{name}";

export const HOST_ROUTES: readonly HostRoute[] = [
  operate({
    path: "/v1.0/actors/{type}/{id}/method/{method}",
    verbs: VERBS,
    ...CALL,
    label: "call",
    summary: "calls an actor",
    handler: callActor,
  }),
  operate({
    path: "/v1.0/actors/{type}/method/{method}",
    verbs: ["POST", "PUT"],
    ...CALL,
    label: "message",
    summary: "calls the actor that the message names",
    handler: callByMessage,
  }),
  operate({
    path: REMINDER,
    verbs: ["POST", "PUT"],
    scope: "call",
    label: "reminder",
    summary: "sets a reminder",
    handler: setReminder,
  }),
  read({ path: REMINDER, label: "reminder", summary: "shows a reminder", handler: showReminder }),
  read({
    path: REMINDER,
    verbs: ["DELETE"],
    scope: "call",
    label: "reminder",
    summary: "cancels a reminder",
    handler: cancelReminder,
  }),

  // ——— Health and metrics.
  read({
    path: "/livez",
    ...PROBE,
    // A stopping process is alive: a restart by an orchestrator would cut off the turns that it drains.
    isServedWhenStopping: true,
    label: "live",
    summary: "reports that the process answers, in any state of its host",
    handler: () => emptyAnswer(204),
  }),
  ...["/readyz", "/v1.0/healthz", "/v1.0/healthz/outbound"].map((path) =>
    read({
      path,
      ...PROBE,
      label: "health",
      summary: "reports whether the host is ready",
      handler: ({ host, exchange }) => health(host, exchange, false),
    }),
  ),
  ...["/api/health", "/api/ready"].map((path) =>
    read({
      path,
      ...PROBE,
      label: "health",
      summary: "reports whether the host is ready, as JSON",
      handler: ({ host, exchange }) => health(host, exchange, true),
    }),
  ),
  read({
    path: "/metrics",
    limits: { bodyBytes: 0, time: "memory" },
    isServedWhenFull: true,
    label: "metrics",
    summary: "renders the metrics for Prometheus",
    handler: ({ renderMetrics }) => textAnswer(200, METRICS_TYPE, renderMetrics()),
  }),
  read({
    path: "/v1.0/metadata",
    limits: { bodyBytes: 0, time: "memory" },
    label: "metadata",
    summary: "describes this host and its actors in memory",
    handler: ({ host }) => jsonAnswer(200, describeHost(host)),
  }),

  // ——— Inspection.
  read({
    path: "/v1.0/inspect/actors",
    label: "list",
    summary: "lists actors, page by page",
    handler: adminHandler(({ query }) => ({ kind: "list", query: parseListQuery(query) }), travellingPage),
  }),
  read({
    path: "/v1.0/inspect/actors/{type}/{id}",
    label: "explain",
    summary: "explains the state of one actor",
    handler: adminHandler(({ names: { type, id } }: ActorPath) => ({ kind: "explain", type, id })),
  }),
  read({
    path: "/v1.0/inspect/cluster",
    label: "cluster",
    summary: "shows the schedulers, hosts and tables of the cluster",
    handler: adminHandler(() => ({ kind: "cluster" })),
  }),
  read({
    path: "/v1.0/inspect/where/{type}/{id}",
    label: "where",
    summary: "shows the host of an actor, and the reason",
    handler: adminHandler(({ names: { type, id } }: ActorPath) => ({ kind: "where", type, id })),
  }),
  read({
    path: "/v1.0/inspect/sticky",
    label: "sticky",
    summary: "lists sticky actors and their hosts, page by page",
    handler: adminHandler(({ query }) => ({ kind: "sticky", query: parseStickyQuery(query) }), travellingPage),
  }),
  read({
    path: "/v1.0/inspect/sticky/{type}/{id}",
    label: "holder",
    summary: "shows the host of one sticky actor",
    handler: adminHandler(({ names: { type, id } }: ActorPath) => ({ kind: "holder", type, id })),
  }),
  read({
    path: "/v1.0/inspect/shards",
    label: "shardedTypes",
    summary: "lists the sharded types, with figures of each",
    handler: adminHandler(
      () => ({ kind: "shardedTypes" }),
      (types) => ({ types }),
    ),
  }),
  read({
    path: "/v1.0/inspect/shards/{type}",
    label: "shards",
    summary: "shows the homes of a type's shards, and their moves",
    handler: adminHandler(({ names: { type } }: HostRequest<"type">) => ({ kind: "shards", type })),
  }),
  read({
    path: "/v1.0/inspect/reminders",
    label: "reminders",
    summary: "lists reminders, page by page",
    handler: adminHandler(
      ({ query }) => ({ kind: "reminders", query: parseReminderQuery(query) }),
      travellingReminders,
    ),
  }),
  read({
    path: "/v1.0/inspect/reminders/dead",
    label: "deadReminders",
    summary: "lists dead letters, page by page",
    handler: adminHandler(
      ({ query }) => ({ kind: "deadReminders", query: parseReminderQuery(query) }),
      travellingReminders,
    ),
  }),
  read({
    path: "/v1.0/inspect/reminders/counts",
    label: "reminderCounts",
    summary: "counts all, overdue and dead reminders",
    handler: adminHandler(() => ({ kind: "reminderCounts" })),
  }),
  read({
    path: "/v1.0/inspect/workflows",
    label: "workflows",
    summary: "lists workflows, page by page",
    handler: adminHandler(readWorkflows, travellingWorkflows),
  }),
  read({
    path: "/v1.0/inspect/workflows/counts",
    label: "workflowCounts",
    summary: "counts running and blocked workflows",
    handler: adminHandler(() => ({ kind: "workflowCounts" })),
  }),
  read({
    path: "/v1.0/inspect/workflows/workers",
    label: "workers",
    summary: "lists the workflow workers, with figures of each",
    handler: adminHandler(() => ({ kind: "workers" })),
  }),
  read({
    path: "/v1.0/inspect/workflow/{workflowId}",
    label: "workflow",
    summary: "explains the state of one workflow, with its history as a timeline",
    handler: adminHandler(readLook),
  }),
  read({
    path: "/v1.0/inspect/workflow/{workflowId}/events",
    label: "workflowEvents",
    summary: "lists the events of a history, page by page",
    handler: adminHandler(readEventsRequest, travellingEvents),
  }),

  // ——— Control.
  workflowAct("start", "starts a workflow", { scope: "call" }),
  workflowAct("signal", "sends a signal to a workflow", { scope: "call" }),
  workflowAct("query", "queries a workflow", CALL),
  workflowAct("update", "sends an update to a workflow, and waits for its result", CALL),
  workflowAct("cancel", "requests the cancellation of a workflow"),
  workflowAct("terminate", "ends a workflow at once"),
  workflowAct("wake", "wakes a blocked or parked workflow"),
  operate({
    path: "/v1.0/control/drain",
    label: "drain",
    summary: "makes a host hand over its actors",
    handler: adminHandler(async ({ exchange }) => ({ kind: "drain", host: parseDrain(await exchange.body()) })),
  }),
  operate({
    path: "/v1.0/control/release",
    label: "release",
    summary: "makes a host release a sticky actor",
    handler: adminHandler(async ({ exchange }) => ({ kind: "release", ...parseRelease(await exchange.body()) })),
  }),
  shardAct("move", "moves a shard to a host"),
  shardAct("pause", "pauses the rebalancing of a type"),
  shardAct("resume", "resumes the rebalancing of a type"),
  shardAct("allocate", "assigns homes to shards of a type"),
  operate({
    path: "/v1.0/control/reminders/retry",
    label: "retryReminder",
    summary: "retries a dead reminder",
    handler: retryReminder,
  }),
  operate({
    path: "/v1.0/control/reminders/drop",
    label: "dropReminder",
    summary: "deletes a dead reminder",
    handler: dropReminder,
  }),
];

/** The subject and the rule of each parameter. */
const PARAMETERS: Readonly<Record<string, readonly [subject: string, check: (name: string) => void]>> = {
  type: ["actor type", checkType],
  id: ["actor id", checkId],
  method: ["method", checkMethod],
  name: ["reminder name", checkReminderName],
  workflowId: ["workflow id", checkWorkflowId],
};

function readName(encoded: string, parameter: string): string {
  const [subject, check] = PARAMETERS[parameter]!;
  const name = decodePercent(encoded, subject);
  check(name);
  return name;
}

export const hostRoutes = (host: ServerHost, renderMetrics: () => string): RouteGroup<HostRoute> => ({
  prefix: "/",
  label: "none",
  routes: HOST_ROUTES,
  readName,
  handle: (route, names, query, exchange) => route.handler({ host, exchange, names, query, renderMetrics }),
  refuse: (problem, _verb, allow) => errorAnswer(problem, allow === undefined ? {} : { allow }),
});
