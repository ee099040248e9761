// The paths of the workflow API, as a table: `*` is a name. Pure.
import { LimpetError } from "../../kernel/errors.ts";
import { canBeKept } from "../../kernel/names.ts";
import { decode } from "../../wire/http/routes.ts";
import {
  activityHeartbeat,
  activityStatus,
  completeActivity,
  failActivity,
  pollActivities,
} from "./activity-handlers.ts";
import { type ApiHandler, ok } from "./api-call.ts";
import { clusterInfo } from "./cluster-info.ts";
import {
  describeWorker,
  drainBuild,
  listBuilds,
  listWorkers,
  operatorMetrics,
  removeWorker,
  resumeBuild,
} from "./operator-handlers.ts";
import {
  approveUpdate,
  completeQuery,
  failQuery,
  pollQueries,
  pollValidations,
  queryHistory,
  rejectUpdate,
  validationHistory,
} from "./question-handlers.ts";
import { deregister, heartbeat, register } from "./worker-handlers.ts";
import {
  cancelWorkflow,
  describe,
  exportHistory,
  listRuns,
  listWorkflows,
  queryWorkflow,
  requestCancellation,
  runHistory,
  signalWorkflow,
  startWorkflow,
  terminateWorkflow,
  updateWorkflow,
} from "./workflow-handlers.ts";
import {
  completeTask,
  deliverCancellation,
  failTask,
  pollTasks,
  taskHeartbeat,
  taskHistory,
} from "./workflow-task-handlers.ts";

/**
 * The version that a request must name: the worker protocol, the control plane, or none. A bundle is
 * requested like the rest of the control plane. Its body is only the bundle, because a verifier reads all of
 * it.
 */
export type ApiPlane = "worker" | "control" | "bundle" | "open";

export interface ApiRoute {
  readonly plane: ApiPlane;
  /** For display, and for the envelope of the answer. */
  readonly operation: string;
  readonly handler: ApiHandler;
  readonly names: readonly string[];
}

type Row = readonly [verb: string, path: string, plane: ApiPlane, operation: string, handler: ApiHandler];

const both = (path: string, operation: string, handler: ApiHandler): Row[] => [
  ["POST", `workflows/*/${path}`, "control", operation, handler],
  ["POST", `workflows/*/runs/*/${path}`, "control", operation, handler],
];

const ROWS: readonly Row[] = [
  ["GET", "cluster/info", "open", "cluster_info", ({ host, plane }) => ok(clusterInfo(host, plane.deps))],
  ["POST", "worker/register", "worker", "register", register],
  ["POST", "worker/heartbeat", "worker", "heartbeat", heartbeat],
  ["DELETE", "worker/registrations/*", "worker", "deregister", deregister],
  ["POST", "worker/workflow-tasks/poll", "worker", "poll_workflow_tasks", pollTasks],
  ["POST", "worker/workflow-tasks/*/history", "worker", "workflow_task_history", taskHistory],
  ["POST", "worker/workflow-tasks/*/heartbeat", "worker", "workflow_task_heartbeat", taskHeartbeat],
  ["POST", "worker/workflow-tasks/*/complete", "worker", "complete_workflow_task", completeTask],
  ["POST", "worker/workflow-tasks/*/deliver-cancellation", "worker", "deliver_cancellation", deliverCancellation],
  ["POST", "worker/workflow-tasks/*/fail", "worker", "fail_workflow_task", failTask],
  ["POST", "worker/activity-tasks/poll", "worker", "poll_activity_tasks", pollActivities],
  ["POST", "worker/activity-tasks/*/complete", "worker", "complete_activity_task", completeActivity],
  ["POST", "worker/activity-tasks/*/fail", "worker", "fail_activity_task", failActivity],
  ["POST", "worker/activity-tasks/*/status", "worker", "activity_task_status", activityStatus],
  ["POST", "worker/activity-tasks/*/heartbeat", "worker", "activity_task_heartbeat", activityHeartbeat],
  ["POST", "worker/query-tasks/poll", "worker", "poll_query_tasks", pollQueries],
  ["POST", "worker/query-tasks/*/history", "worker", "query_task_history", queryHistory],
  ["POST", "worker/query-tasks/*/complete", "worker", "complete_query_task", completeQuery],
  ["POST", "worker/query-tasks/*/fail", "worker", "fail_query_task", failQuery],
  ["POST", "worker/update-validation-tasks/poll", "worker", "poll_update_validation_tasks", pollValidations],
  ["POST", "worker/update-validation-tasks/*/history", "worker", "update_validation_task_history", validationHistory],
  ["POST", "worker/update-validation-tasks/*/approve", "worker", "approve_update", approveUpdate],
  ["POST", "worker/update-validation-tasks/*/reject", "worker", "reject_update", rejectUpdate],
  ["GET", "workflows", "control", "list", listWorkflows],
  ["POST", "workflows", "control", "start", startWorkflow],
  ["GET", "workflows/*", "control", "describe", describe],
  ["GET", "workflows/*/runs", "control", "list_runs", listRuns],
  ["GET", "workflows/*/runs/*", "control", "describe_run", describe],
  ["GET", "workflows/*/runs/*/history", "control", "history", runHistory],
  ["GET", "workflows/*/runs/*/history/export", "bundle", "export_history", exportHistory],
  ...both("signal/*", "signal", signalWorkflow),
  ...both("query/*", "query", queryWorkflow),
  ...both("update/*", "update", updateWorkflow),
  ...both("cancel", "cancel", cancelWorkflow),
  ...both("request-cancellation", "request_cancellation", requestCancellation),
  ...both("terminate", "terminate", terminateWorkflow),
  ["GET", "workers", "control", "list_workers", listWorkers],
  ["GET", "workers/*", "control", "describe_worker", describeWorker],
  ["DELETE", "workers/*", "control", "remove_worker", removeWorker],
  ["GET", "task-queues/*/build-ids", "control", "list_build_ids", listBuilds],
  ["POST", "task-queues/*/build-ids/drain", "control", "drain_build_id", drainBuild],
  ["POST", "task-queues/*/build-ids/resume", "control", "resume_build_id", resumeBuild],
  ["GET", "system/operator-metrics", "control", "operator_metrics", operatorMetrics],
];

const TABLE = ROWS.map(([verb, path, plane, operation, handler]) => {
  return { verb, parts: path.split("/"), plane, operation, handler };
});

export type FoundApi = { readonly route: ApiRoute } | { readonly allow: readonly string[] };

/** `path`: the path behind /api/, still percent-encoded. */
export function findApi(verb: string, path: string): FoundApi {
  const parts = path.split("/");
  const matching = TABLE.filter(
    (row) => row.parts.length === parts.length && row.parts.every((part, i) => part === "*" || part === parts[i]),
  );
  const row = matching.find((each) => each.verb === verb);
  if (row === undefined) return { allow: matching.map((each) => each.verb) };
  const names = parts.filter((_, i) => row.parts[i] === "*").map((part) => nameOf(part));
  const { plane, operation, handler } = row;
  // Workers name their tasks; an invalid name is an unknown task.
  if (plane === "control" && !names.every(canBeKept)) {
    throw new LimpetError("NAME_INVALID", "a name in the path must not contain a NUL");
  }
  return { route: { plane, operation, handler, names } };
}

function nameOf(part: string): string {
  const name = decode(part, "a name in the path");
  if (name === "" || name.length > 4_096)
    throw new LimpetError("NAME_INVALID", "a name in the path is empty or too long");
  return name;
}
