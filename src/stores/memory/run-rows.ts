// Runs of workflows in memory: one object for each, found by ref, by id, and by workflow.
import type {
  EventBatch,
  ReplayMode,
  RunQuery,
  RunStart,
  RunStatus,
  StoredInboxMessage,
  StoredRun,
  WorkflowKey,
} from "../../ports/store/workflows.ts";

/** The task of an open run. `at` and the affinity change only while the task is not in the task index. */
export interface Task {
  readonly run: Run;
  /** The ref of the run. */
  readonly generation: number;
  state: "idle" | "ready" | "leased";
  /** Ready: its start. Leased: its end. */
  at: number;
  /** Stays when the task is idle, so that a repeated step is recognised. */
  token: string | undefined;
  worker: string | undefined;
  attempt: number;
  /** The count at the last claim of the task; `lostSoFar` returns the part that is valid. */
  lost: number;
  problem: string | undefined;
  mode: ReplayMode | undefined;
  claimedAt: number | undefined;
  delivered: number;
  taken: number;
  stickyWorker: string | undefined;
  /** Negative: it was ended early; the absolute value is its original end. */
  stickyUntil: number;
}

export interface InboxEntry extends StoredInboxMessage {
  readonly goesAlong: boolean;
}

export interface Run extends WorkflowKey {
  readonly ref: number;
  readonly runId: string;
  readonly type: string;
  readonly queue: string;
  pinned: string | undefined;
  status: RunStatus;
  attributes: string;
  memo: string;
  readonly startedAt: number;
  closedAt: number | undefined;
  result: string | undefined;
  /** The token of the step that closed it. */
  closedBy: string | undefined;
  last: number;
  bytes: number;
  readonly batches: (EventBatch & { readonly from: number })[];
  /** By key, in the order of their numbers. */
  readonly inbox: Map<string, InboxEntry>;
  isWatched: boolean;
  /** Present while the run is open. */
  task: Task | undefined;
}

export type OpenRun = Run & { task: Task };

export const isOpenRun = (run: Run | undefined): run is OpenRun => run?.task !== undefined;

/** Lost attempts, including the attempt of an expired lease. A task that was completed since has none. */
export const lostSoFar = ({ state, lost, attempt }: Task): number =>
  state === "leased" ? Math.min(lost, attempt - 1) + 1 : Math.min(lost, attempt);

export class RunRows {
  readonly #byRef = new Map<number, Run>();
  readonly #byRunId = new Map<string, Run>();
  /** Namespace, then workflow: its runs, the latest last. Words are never joined. */
  readonly #byWorkflow = new Map<string, Map<string, Run[]>>();
  readonly #byNamespace = new Map<string, Map<number, Run>>();
  #lastRef = 0;

  get(ref: number): Run | undefined {
    return this.#byRef.get(ref);
  }

  /** The given run, or else the latest, which is the open one when there is one. */
  find({ namespace, workflowId }: WorkflowKey, runId: string | undefined): Run | undefined {
    if (runId === undefined) return this.#byWorkflow.get(namespace)?.get(workflowId)?.at(-1);
    const run = this.#byRunId.get(runId);
    return run?.namespace === namespace && run.workflowId === workflowId ? run : undefined;
  }

  /** The earliest first. */
  all(namespace: string): Iterable<Run> {
    return this.#byNamespace.get(namespace)?.values() ?? [];
  }

  /** Inserts the run without a task. */
  insert({ namespace, workflowId, runId, type, queue, pinned, attributes, memo }: RunStart, startedAt: number): Run {
    const run: Run = {
      ref: ++this.#lastRef,
      namespace,
      workflowId,
      runId,
      type,
      queue,
      pinned,
      attributes,
      memo,
      startedAt,
      status: "running",
      closedAt: undefined,
      result: undefined,
      closedBy: undefined,
      last: 0,
      bytes: 0,
      batches: [],
      inbox: new Map(),
      isWatched: false,
      task: undefined,
    };
    this.#byRef.set(run.ref, run);
    this.#byRunId.set(runId, run);
    mapIn(this.#byNamespace, namespace).set(run.ref, run);
    const workflows = mapIn(this.#byWorkflow, namespace);
    const runs = workflows.get(workflowId) ?? [];
    runs.push(run);
    workflows.set(workflowId, runs);
    return run;
  }

  remove(run: Run): void {
    const { namespace, workflowId, ref, runId } = run;
    this.#byRef.delete(ref);
    this.#byRunId.delete(runId);
    this.#byNamespace.get(namespace)?.delete(ref);
    const workflows = mapIn(this.#byWorkflow, namespace);
    const rest = (workflows.get(workflowId) ?? []).filter((one) => one !== run);
    if (rest.length > 0) workflows.set(workflowId, rest);
    else workflows.delete(workflowId);
  }
}

function mapIn<K, V>(maps: Map<string, Map<K, V>>, name: string): Map<K, V> {
  const map = maps.get(name) ?? new Map<K, V>();
  maps.set(name, map);
  return map;
}

export function addBatch(run: Run, { count, data }: EventBatch): void {
  run.batches.push({ from: run.last + 1, count, data });
  run.last += count;
  run.bytes += Buffer.byteLength(data);
}

export function storedRunOf(run: Run): StoredRun {
  const { ref, namespace, workflowId, runId, type, queue, pinned, status, attributes, memo } = run;
  const { startedAt, closedAt, result, last, bytes, task } = run;
  return {
    ref,
    namespace,
    workflowId,
    runId,
    type,
    queue,
    pinned,
    status,
    attributes,
    memo,
    startedAt,
    closedAt,
    result,
    events: last,
    bytes,
    task: task && {
      state: task.state,
      attempt: task.attempt,
      problem: task.problem,
      lost: Math.min(task.lost, task.state === "leased" ? task.attempt - 1 : task.attempt),
      at: task.state === "idle" ? undefined : task.at,
      worker: task.worker,
      mode: task.mode,
      claimedAt: task.claimedAt,
      arrived: task.delivered,
      taken: task.taken,
    },
    stickyWorker: task?.stickyWorker,
    stickyUntil: task?.stickyWorker === undefined ? undefined : Math.max(0, task.stickyUntil),
  };
}

/** Checks all conditions of the query but the page. */
export function matches(run: Run, query: RunQuery): boolean {
  const { workflowId, prefix = "", type, status, queue, attributes, startedFrom, startedBefore, isBlocked } = query;
  if (workflowId !== undefined && run.workflowId !== workflowId) return false;
  if (!run.workflowId.startsWith(prefix)) return false;
  if (type !== undefined && run.type !== type) return false;
  if (status !== undefined && run.status !== status) return false;
  if (queue !== undefined && run.queue !== queue) return false;
  if (startedFrom !== undefined && run.startedAt < startedFrom) return false;
  if (startedBefore !== undefined && run.startedAt >= startedBefore) return false;
  if (isBlocked === true && run.task?.problem === undefined) return false;
  return attributes === undefined || hasAttributes(run, attributes);
}

function hasAttributes(run: Run, wanted: NonNullable<RunQuery["attributes"]>): boolean {
  const entries = Object.entries(wanted);
  if (entries.length === 0) return true;
  const own = new Map(Object.entries(JSON.parse(run.attributes) as object));
  return entries.every(([name, value]) => own.get(name) === value);
}
