// Serves workflows to the HTTP API and the command line. Requests go through the same client that code uses;
// views are read from the store. Each read of a history is limited, so that a view of a long history does not
// block the process.
import { formatDuration } from "../kernel/durations.ts";
import { LimpetError } from "../kernel/errors.ts";
import { LIMITS } from "../kernel/limits.ts";
import type { Clock } from "../ports/clock.ts";
import type { Reminders } from "../ports/store/reminders.ts";
import type { StoredRun, Workflows } from "../ports/store/workflows.ts";
import {
  type EventPage,
  type HistoryBudget,
  MOST_WORKFLOWS_COUNTED,
  type NewWorkflow,
  type RunName,
  type WorkerOverview,
  type WorkflowAdmin,
  type WorkflowCounts,
  type WorkflowEvent,
  type WorkflowPage,
  type WorkflowPageQuery,
  type WorkflowSummary,
  type WorkflowView,
} from "../ports/workflow-admin.ts";
import { closed, type WorkflowClient } from "./client/client.ts";
import { checkWorkflowId } from "./definition/definition.ts";
import { activityType, readActivity } from "./definition/messages.ts";
import { readPin } from "./definition/pins.ts";
import { readEventBatch, type Started } from "./engine/events.ts";
import { awaitedBy, type QueuedPlace, summaryOf } from "./engine/explain-run.ts";
import {
  HISTORY_SUGGESTED_BYTES,
  HISTORY_SUGGESTED_EVENTS,
  type HistoryLimit,
  isContinueSuggested,
  isParked,
} from "./engine/history-budget.ts";
import { type PendingStep, RunTimeline, storedErrorText } from "./engine/timeline.ts";
import type { HttpWorkers } from "./http-workers.ts";
import { overviewOf, workerSummary } from "./worker-overview.ts";

export interface WorkflowAdminDeps {
  readonly namespace: string;
  readonly isSticky: boolean;
  readonly stickyMs: number;
  readonly historyLimit: HistoryLimit;
  readonly clock: Clock;
  /** The timeout for callers that name none. */
  readonly callTimeoutMs: number;
  readonly store: Workflows;
  readonly reminders: Reminders;
  readonly client: WorkflowClient;
  readonly httpWorkers: Pick<HttpWorkers, "workers" | "claims">;
  /** The store's clock. */
  now(): number;
  /** The current waits of the run's code, if this process can replay it. */
  waitsOf(run: StoredRun): Promise<readonly string[] | undefined>;
  /** Restores missing reminders of an open run. */
  mend(run: StoredRun): Promise<unknown>;
  /** A task is ready. */
  woken(): void;
}

/** The size of one read of a history. */
const READ_BYTES = 1024 * 1024;
/** Activities of one run whose rows are read. */
const MOST_LOOKED_FOR = 50;

export class StoredWorkflows implements WorkflowAdmin {
  readonly #deps: WorkflowAdminDeps;

  constructor(deps: WorkflowAdminDeps) {
    this.#deps = deps;
  }

  async list(query: WorkflowPageQuery): Promise<WorkflowPage> {
    const { store, namespace, now } = this.#deps;
    const limit = Math.min(query.limit, LIMITS.listPage);
    // One row more than shown tells whether another page exists.
    const found = await store.list({ ...query, namespace, limit: limit + 1 });
    const rows = found.slice(0, limit);
    return { now: now(), workflows: rows.map(summarize), next: found.length > limit ? rows.at(-1)!.ref : undefined };
  }

  async count(): Promise<WorkflowCounts> {
    const { store, namespace } = this.#deps;
    const query = { namespace, status: "running", limit: MOST_WORKFLOWS_COUNTED } as const;
    const [running, blocked] = await Promise.all([store.count(query), store.count({ ...query, isBlocked: true })]);
    return { running, blocked };
  }

  async look(name: RunName, steps: number): Promise<WorkflowView> {
    const run = await this.#find(name);
    const timeline = new RunTimeline();
    let started: Started | undefined;
    await this.#read(run, 0, ({ number, at, event }) => {
      timeline.add(number, at, event);
      if (number === 1) started = event as Started;
      return true;
    });
    const isOpen = run.status === "running";
    const [queued, code, rows] = await Promise.all([
      isOpen ? this.#queued(run, timeline.pending) : new Map<number, QueuedPlace>(),
      isOpen && run.task?.problem === undefined ? this.#deps.waitsOf(run) : undefined,
      this.#deps.httpWorkers.workers.rows(),
    ]);
    const workers = rows.map((row) => workerSummary(row, this.#deps.httpWorkers.workers.isLive(row)));
    const now = this.#deps.now();
    const facts = { run, now, pending: timeline.pending, queued, code, workers };
    const waitsFor = awaitedBy(facts);
    const shown = timeline.steps.slice(-Math.max(1, steps));
    const end = JSON.parse(run.result ?? "{}") as { result?: unknown; error?: unknown };
    return {
      ...summarize(run),
      now,
      summary: summaryOf(facts, waitsFor),
      waitsFor,
      isCodeAsked: code !== undefined,
      input: started?.input,
      memo: JSON.parse(run.memo) as unknown,
      result: run.status === "completed" ? end.result : undefined,
      error: end.error === undefined ? undefined : storedErrorText(end.error),
      parent: parentOf(started),
      continuedFrom: started?.continuedFrom,
      continuedAs: run.status === "continued" ? String(end.result) : undefined,
      timeoutAt: earliest(started?.runTimeoutAt, started?.timeoutAt),
      budget: this.#budgetOf(run),
      steps: shown,
      earlier: timeline.steps.length - shown.length,
    };
  }

  #budgetOf(run: StoredRun): HistoryBudget {
    return {
      suggested: { events: HISTORY_SUGGESTED_EVENTS, bytes: HISTORY_SUGGESTED_BYTES },
      most: this.#deps.historyLimit,
      isContinueSuggested: run.status === "running" && isContinueSuggested(run),
      isParked: isParked(run.task?.problem),
    };
  }

  async events(name: RunName, after: number, limit: number): Promise<EventPage> {
    const run = await this.#find(name);
    const events: WorkflowEvent[] = [];
    await this.#read(run, after, (event) => {
      events.push(event);
      return events.length < limit;
    });
    const last = events.at(-1)?.number;
    return { events, next: last !== undefined && last < run.events ? last : undefined };
  }

  /** Reads events after a number until `see` returns false. */
  async #read(
    { ref, events }: StoredRun,
    after: number,
    see: (event: {
      readonly number: number;
      readonly at: number;
      readonly event: ReturnType<typeof readEventBatch>["events"][number];
    }) => boolean,
  ): Promise<void> {
    for (let last = after; last < events; ) {
      const { batches } = await this.#deps.store.history(ref, last, READ_BYTES);
      if (batches.length === 0) return;
      for (const { from, count, data } of batches) {
        const { at, events: more } = readEventBatch(data);
        for (const [i, event] of more.entries()) {
          // A page may begin before the requested event.
          if (from + i > last && !see({ number: from + i, at, event })) return;
        }
        last = from + count - 1;
      }
    }
  }

  async #queued(run: StoredRun, pending: readonly PendingStep[]): Promise<Map<number, QueuedPlace>> {
    const { namespace, reminders } = this.#deps;
    const waiting = pending.filter(({ kind, isQueued }) => kind === "activity" && isQueued).slice(0, MOST_LOOKED_FOR);
    const places = await Promise.all(
      waiting.map(async ({ n, what, queue }): Promise<[number, QueuedPlace] | undefined> => {
        const type = activityType(queue ?? run.queue, what);
        const row = await reminders.get({ namespace, type, id: run.runId, name: String(n) });
        if (row === undefined) return undefined;
        const attempts = readActivity(row.data)?.attempts ?? 0;
        return [n!, { at: row.tick.at, attempts, leasedUntil: row.leasedUntil }];
      }),
    );
    return new Map(places.filter((place) => place !== undefined));
  }

  async workers(): Promise<WorkerOverview> {
    return overviewOf(this.#deps, await this.count());
  }

  // ——— Requests.

  async start({ type, ...request }: NewWorkflow): Promise<{ readonly workflowId: string; readonly runId: string }> {
    const given = Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined));
    const handle = await this.#deps.client.start(type, { ...given, input: request.input });
    return { workflowId: handle.id, runId: handle.runId! };
  }

  async signal(name: RunName, signal: string, input: unknown): Promise<void> {
    await this.#handle(name).signal(signal, input);
  }

  query(name: RunName, query: string, input: unknown): Promise<unknown> {
    return this.#handle(name).query(query, input);
  }

  async update(
    name: RunName,
    update: string,
    input: unknown,
    { timeoutMs = this.#deps.callTimeoutMs, gone }: { timeoutMs: number | undefined; gone: AbortSignal },
  ): Promise<unknown> {
    const deadline = new AbortController();
    const what = `update ${update} of workflow ${name.workflowId} was not done within ${formatDuration(timeoutMs)}; it may still be done`;
    const timer = this.#deps.clock.after(timeoutMs, () => deadline.abort(new LimpetError("CALL_TIMEOUT", what)));
    try {
      return await this.#handle(name).update(update, input, { signal: AbortSignal.any([gone, deadline.signal]) });
    } finally {
      timer.cancel();
    }
  }

  async cancel(name: RunName, reason: string): Promise<void> {
    await this.#handle(name).cancel(reason);
  }

  async terminate(name: RunName, reason: string): Promise<void> {
    await this.#handle(name).terminate(reason);
  }

  async wake(name: RunName): Promise<void> {
    const { namespace, store, woken } = this.#deps;
    const run = await this.#find(name);
    const { workflowId, runId, status } = run;
    if (status === "running") await this.#deps.mend(run);
    if (status !== "running" || !(await store.wake({ namespace, workflowId }, true))) {
      throw closed(workflowId, (await this.#find({ workflowId, runId })).status);
    }
    woken();
  }

  #handle({ workflowId, runId }: RunName) {
    return this.#deps.client.get(workflowId, { runId });
  }

  async #find({ workflowId, runId }: RunName): Promise<StoredRun> {
    checkWorkflowId(workflowId);
    const { namespace, store } = this.#deps;
    const run = await store.find({ namespace, workflowId, runId });
    if (run !== undefined) return run;
    const which = runId === undefined ? "" : ` with a run ${runId}`;
    throw new LimpetError("WORKFLOW_UNKNOWN", `there is no workflow ${workflowId}${which}`);
  }
}

function summarize(run: StoredRun): WorkflowSummary {
  const { workflowId, runId, type, queue, pinned, status, startedAt, closedAt, events, bytes, task } = run;
  return {
    workflowId,
    runId,
    type,
    queue,
    ...readPin(pinned),
    status,
    startedAt,
    closedAt,
    events,
    bytes,
    attributes: JSON.parse(run.attributes) as unknown,
    blocked: task?.problem,
    task,
    stickyWorker: run.stickyWorker,
    stickyUntil: run.stickyUntil,
  };
}

function parentOf(started: Started | undefined): WorkflowView["parent"] {
  if (started?.parent === undefined) return undefined;
  const { workflowId, runId } = started.parent;
  return { workflowId, runId };
}

function earliest(...moments: readonly (number | undefined)[]): number | undefined {
  const known = moments.filter((moment) => moment !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
