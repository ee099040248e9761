// The routes of the control plane: clients that steer workflows, and operators of workers.
// docs/worker-protocol.md describes them for users.
import { LIMITS } from "../../kernel/limits.ts";
import type { NamesIn } from "../../wire/http/route.ts";
import { type ApiEntry, type ApiRoute, LABEL, okAnswer, type RunNames } from "./api-call.ts";
import { clusterInfo } from "./cluster-info.ts";
import {
  describeWorker,
  describeWorkers,
  drainBuild,
  listBuilds,
  operatorMetrics,
  removeWorker,
  resumeBuild,
} from "./operator-handlers.ts";
import {
  cancelWorkflow,
  describe,
  describeRuns,
  exportHistory,
  listWorkflows,
  queryWorkflow,
  requestCancellation,
  runHistory,
  signalWorkflow,
  startWorkflow,
  terminateWorkflow,
  updateWorkflow,
} from "./workflow-handlers.ts";

const BODY = LIMITS.httpBodyBytes;
const CALL = { scope: "call", limits: { bodyBytes: BODY, time: "call" } } as const;

const read = <Path extends string>(entry: ApiEntry<Path, NamesIn<Path>>): ApiRoute => ({
  verbs: ["GET"],
  limits: { bodyBytes: 0, time: "store" },
  scope: "read",
  label: LABEL,
  protocol: "control",
  ...entry,
});

const operate = <Path extends string>(entry: ApiEntry<Path, NamesIn<Path>>): ApiRoute => ({
  verbs: ["POST"],
  limits: { bodyBytes: BODY, time: "store" },
  scope: "operate",
  label: LABEL,
  protocol: "control",
  ...entry,
});

/** A command to the open run of a workflow, and to a run by its id. */
function command<Path extends string>({ path, ...entry }: ApiEntry<Path, keyof RunNames | NamesIn<Path>>): ApiRoute[] {
  const command = entry as Omit<ApiEntry<string, never>, "path">;
  return [
    operate({ ...command, path: `/api/workflows/{id}/${path}` as string }),
    operate({ ...command, path: `/api/workflows/{id}/runs/{run}/${path}` as string }),
  ];
}

export const CONTROL_ROUTES: readonly ApiRoute[] = [
  read({
    path: "/api/cluster/info",
    protocol: "open",
    operation: "cluster_info",
    summary: "shows versions and capabilities",
    handler: ({ host, service }) => okAnswer(clusterInfo(host, service.deps)),
  }),
  read({ path: "/api/workflows", operation: "list", summary: "lists runs, the latest first", handler: listWorkflows }),
  operate({
    path: "/api/workflows",
    scope: "call",
    operation: "start",
    summary: "starts a workflow",
    handler: startWorkflow,
  }),
  read({
    path: "/api/workflows/{id}",
    operation: "describe",
    summary: "describes the latest run of a workflow",
    handler: describe,
  }),
  read({
    path: "/api/workflows/{id}/runs",
    operation: "list_runs",
    summary: "lists the runs of a workflow",
    handler: describeRuns,
  }),
  read({
    path: "/api/workflows/{id}/runs/{run}",
    operation: "describe_run",
    summary: "describes a run",
    handler: describe,
  }),
  read({
    path: "/api/workflows/{id}/runs/{run}/history",
    limits: { bodyBytes: 0, time: "poll" },
    operation: "history",
    summary: "returns the events of a run, and waits for new ones on request",
    handler: runHistory,
  }),
  read({
    path: "/api/workflows/{id}/runs/{run}/history/export",
    protocol: "bundle",
    operation: "export_history",
    summary: "exports a run as a bundle",
    handler: exportHistory,
  }),
  ...command({
    path: "signal/{name}",
    scope: "call",
    operation: "signal",
    summary: "sends a signal to a workflow",
    handler: signalWorkflow,
  }),
  ...command({
    path: "query/{name}",
    ...CALL,
    operation: "query",
    summary: "queries a workflow",
    handler: queryWorkflow,
  }),
  ...command({
    path: "update/{name}",
    ...CALL,
    operation: "update",
    summary: "sends an update to a workflow",
    handler: updateWorkflow,
  }),
  ...command({
    path: "cancel",
    operation: "cancel",
    summary: "requests the cancellation of a workflow",
    handler: cancelWorkflow,
  }),
  ...command({
    path: "request-cancellation",
    operation: "request_cancellation",
    summary: "requests a cancellation with a cleanup",
    handler: requestCancellation,
  }),
  ...command({
    path: "terminate",
    operation: "terminate",
    summary: "ends a workflow at once",
    handler: terminateWorkflow,
  }),
  read({ path: "/api/workers", operation: "list_workers", summary: "lists the workers", handler: describeWorkers }),
  read({
    path: "/api/workers/{id}",
    operation: "describe_worker",
    summary: "describes a worker",
    handler: describeWorker,
  }),
  operate({
    path: "/api/workers/{id}",
    verbs: ["DELETE"],
    operation: "remove_worker",
    summary: "removes a worker",
    handler: removeWorker,
  }),
  read({
    path: "/api/task-queues/{queue}/build-ids",
    operation: "list_build_ids",
    summary: "lists the builds of a task queue",
    handler: listBuilds,
  }),
  operate({
    path: "/api/task-queues/{queue}/build-ids/drain",
    operation: "drain_build_id",
    summary: "stops tasks for workers of a build",
    handler: drainBuild,
  }),
  operate({
    path: "/api/task-queues/{queue}/build-ids/resume",
    operation: "resume_build_id",
    summary: "resumes tasks for workers of a build",
    handler: resumeBuild,
  }),
  read({
    path: "/api/system/operator-metrics",
    operation: "operator_metrics",
    summary: "shows figures of sticky execution",
    handler: operatorMetrics,
  }),
];
