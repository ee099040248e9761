// A run for display: its row, and while it is open the row of its task.

import type { StoredRun, StoredTask } from "../../../ports/store/workflows.ts";
import { IDLE, LEASED } from "../../task-states.ts";
import { replayModeOf, stateOf, statusOf } from "./codes.ts";

export const STORED = `SELECT r.ref, r.namespace, workflow_id, run_id, k.type, k.queue, r.build, status, attributes, memo,
    started_at, closed_at, result, events, r.bytes,
    state, t.last, t.bytes, t.attempt, problem, at, until, worker, mode, claimed_at, t.arrived, t.taken, sticky_worker,
    sticky_until, lost
  FROM workflow_runs r JOIN workflow_kinds k ON k.ref = r.kind LEFT JOIN workflow_tasks t ON t.ref = r.ref
  WHERE r.ref = ?`;

type RunRow = [
  ...[ref: number, namespace: string, workflowId: string, runId: string, type: string, queue: string],
  ...[pinned: string | null, status: number, attributes: string, memo: string, startedAt: number],
  ...[closedAt: number | null, result: string | null, events: number, bytes: number],
];
type TaskRow = [
  ...[state: number, last: number, bytes: number, attempt: number, problem: string | null, at: number, until: number],
  ...[worker: string | null, mode: number | null, claimedAt: number | null, arrived: number, taken: number],
  ...[stickyWorker: string | null, stickyUntil: number | null, lost: number],
];
type NoTask = [null, ...unknown[]];
const RUN_COLUMNS = 15;

export type StoredRow = [...RunRow, ...(TaskRow | NoTask)];

export function storedOf(row: StoredRow): StoredRun {
  const [ref, namespace, workflowId, runId, type, queue, pinned, status, attributes, memo, ...more] =
    row as unknown as RunRow;
  const [startedAt, closedAt, result, events, bytes] = more;
  const task = row[RUN_COLUMNS] === null ? undefined : (row.slice(RUN_COLUMNS) as TaskRow);
  return {
    ref,
    namespace,
    workflowId,
    runId,
    type,
    queue,
    pinned: pinned ?? undefined,
    status: statusOf(status),
    attributes,
    memo,
    startedAt,
    closedAt: closedAt ?? undefined,
    result: result ?? undefined,
    events: task === undefined ? events : task[1],
    bytes: task === undefined ? bytes : task[2],
    task: task && taskOf(task),
    stickyWorker: task?.[12] ?? undefined,
    stickyUntil: task === undefined || task[13] === null ? undefined : Math.max(0, task[13]),
  };
}

function taskOf([
  state,
  ,
  ,
  attempt,
  problem,
  at,
  until,
  worker,
  mode,
  claimedAt,
  arrived,
  taken,
  ,
  ,
  lost,
]: TaskRow): StoredTask {
  return {
    state: stateOf(state),
    attempt,
    lost: Math.min(lost, state === LEASED ? attempt - 1 : attempt),
    problem: problem ?? undefined,
    at: state === IDLE ? undefined : state === LEASED ? until : at,
    worker: worker ?? undefined,
    mode: mode === null ? undefined : replayModeOf(mode),
    claimedAt: claimedAt ?? undefined,
    arrived,
    taken,
  };
}
