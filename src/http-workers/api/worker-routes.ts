// The routes of the worker protocol: registration, polls, and the answers to tasks. docs/worker-protocol.md
// describes them for users.
import { LIMITS } from "../../kernel/limits.ts";
import type { NamesIn } from "../../wire/http/route.ts";
import {
  activityHeartbeat,
  activityStatus,
  completeActivity,
  failActivity,
  pollActivities,
} from "./activity-handlers.ts";
import { type ApiEntry, type ApiRoute, LABEL } from "./api-call.ts";
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
  completeTask,
  deliverCancellation,
  failTask,
  pollTasks,
  taskHeartbeat,
  taskHistory,
} from "./workflow-task-handlers.ts";

const BODY = LIMITS.httpBodyBytes;
const POLL = { limits: { bodyBytes: BODY, time: "poll" } } as const;

const worker = <Path extends string>(entry: ApiEntry<Path, NamesIn<Path>>): ApiRoute => ({
  verbs: ["POST"],
  limits: { bodyBytes: BODY, time: "store" },
  scope: "worker",
  label: LABEL,
  protocol: "worker",
  ...entry,
});

export const WORKER_ROUTES: readonly ApiRoute[] = [
  worker({
    path: "/api/worker/register",
    operation: "register",
    summary: "registers a worker, or renews its registration",
    handler: register,
  }),
  worker({
    path: "/api/worker/heartbeat",
    operation: "heartbeat",
    summary: "reports that the worker is alive",
    handler: heartbeat,
  }),
  worker({
    path: "/api/worker/registrations/{id}",
    verbs: ["DELETE"],
    operation: "deregister",
    summary: "removes the registration of a worker",
    handler: deregister,
  }),
  worker({
    path: "/api/worker/workflow-tasks/poll",
    ...POLL,
    operation: "poll_workflow_tasks",
    summary: "waits for a workflow task",
    handler: pollTasks,
  }),
  worker({
    path: "/api/worker/workflow-tasks/{task}/history",
    operation: "workflow_task_history",
    summary: "returns the next page of a history",
    handler: taskHistory,
  }),
  worker({
    path: "/api/worker/workflow-tasks/{task}/heartbeat",
    operation: "workflow_task_heartbeat",
    summary: "extends the lease of a workflow task",
    handler: taskHeartbeat,
  }),
  worker({
    path: "/api/worker/workflow-tasks/{task}/complete",
    operation: "complete_workflow_task",
    summary: "completes a workflow task with commands",
    handler: completeTask,
  }),
  worker({
    path: "/api/worker/workflow-tasks/{task}/deliver-cancellation",
    operation: "deliver_cancellation",
    summary: "delivers a cancellation to the code of a run",
    handler: deliverCancellation,
  }),
  worker({
    path: "/api/worker/workflow-tasks/{task}/fail",
    operation: "fail_workflow_task",
    summary: "fails a workflow task",
    handler: failTask,
  }),
  worker({
    path: "/api/worker/activity-tasks/poll",
    ...POLL,
    operation: "poll_activity_tasks",
    summary: "waits for an activity",
    handler: pollActivities,
  }),
  worker({
    path: "/api/worker/activity-tasks/{task}/complete",
    operation: "complete_activity_task",
    summary: "completes an activity with its result",
    handler: completeActivity,
  }),
  worker({
    path: "/api/worker/activity-tasks/{task}/fail",
    operation: "fail_activity_task",
    summary: "fails an attempt at an activity",
    handler: failActivity,
  }),
  worker({
    path: "/api/worker/activity-tasks/{task}/status",
    operation: "activity_task_status",
    summary: "shows the lease of an activity",
    handler: activityStatus,
  }),
  worker({
    path: "/api/worker/activity-tasks/{task}/heartbeat",
    operation: "activity_task_heartbeat",
    summary: "extends the lease of an activity, and stores its details",
    handler: activityHeartbeat,
  }),
  worker({
    path: "/api/worker/query-tasks/poll",
    ...POLL,
    operation: "poll_query_tasks",
    summary: "waits for a query",
    handler: pollQueries,
  }),
  worker({
    path: "/api/worker/query-tasks/{task}/history",
    operation: "query_task_history",
    summary: "returns the next page of the history for a query",
    handler: queryHistory,
  }),
  worker({
    path: "/api/worker/query-tasks/{task}/complete",
    operation: "complete_query_task",
    summary: "answers a query",
    handler: completeQuery,
  }),
  worker({
    path: "/api/worker/query-tasks/{task}/fail",
    operation: "fail_query_task",
    summary: "rejects a query",
    handler: failQuery,
  }),
  worker({
    path: "/api/worker/update-validation-tasks/poll",
    ...POLL,
    operation: "poll_update_validation_tasks",
    summary: "waits for an update that needs validation",
    handler: pollValidations,
  }),
  worker({
    path: "/api/worker/update-validation-tasks/{task}/history",
    operation: "update_validation_task_history",
    summary: "returns the next page of the history for a validation",
    handler: validationHistory,
  }),
  worker({
    path: "/api/worker/update-validation-tasks/{task}/approve",
    operation: "approve_update",
    summary: "accepts an update",
    handler: approveUpdate,
  }),
  worker({
    path: "/api/worker/update-validation-tasks/{task}/reject",
    operation: "reject_update",
    summary: "rejects an update",
    handler: rejectUpdate,
  }),
];
