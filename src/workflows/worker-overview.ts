// Collects the figures behind the doctor's advice: workers, sticky hits and misses, and runs and activities
// that no live worker may claim.
import type { StoredReminder } from "../ports/store/reminders.ts";
import type { StoredRun, StoredWorker } from "../ports/store/workflows.ts";
import type { Unserved, WorkerOverview, WorkerSummary, WorkflowCounts } from "../ports/workflow-admin.ts";
import type { WorkflowAdminDeps } from "./admin.ts";
import { ACTIVITY_MARK, readActivityType } from "./definition/messages.ts";
import { mayContinue, type Pin, readPin, workerCodeOf } from "./definition/pins.ts";
import { codeOfSummary, STUCK_MS } from "./engine/explain-run.ts";
import { lastMinuteOf } from "./worker/minute-counts.ts";
import { readCache } from "./worker/run-cache.ts";

/** Runs and queued activities that are read to find unserved ones. */
const LOOKED_AT = 1_000;

export async function overviewOf(deps: WorkflowAdminDeps, counts: WorkflowCounts): Promise<WorkerOverview> {
  const { store, reminders, namespace, httpWorkers, isSticky, stickyMs } = deps;
  const now = deps.now();
  const running = { namespace, status: "running", startedBefore: now - STUCK_MS, limit: LOOKED_AT } as const;
  // The types of queued activities have one prefix in common.
  const after = { type: ACTIVITY_MARK, id: "", name: "" };
  const [rows, sticky, runs, queued, elsewhere] = await Promise.all([
    httpWorkers.workers.rows(),
    store.stickiness(namespace),
    store.list(running),
    reminders.list({ namespace, after, limit: LOOKED_AT, isBrief: true }),
    httpWorkers.claims.lastMinute(),
  ]);
  const workers = rows.map((row) => workerSummary(row, httpWorkers.workers.isLive(row)));
  const live = rows.filter((row) => httpWorkers.workers.isLive(row));
  return {
    now,
    ...counts,
    workers,
    sticky: { ...sticky, isEnabled: isSticky, ttlMs: stickyMs },
    lastMinute: lastMinuteOf(live, elsewhere),
    unserved: [...unservedRuns(runs, workers, now), ...unservedActivities(queued, now)],
  };
}

/** The description of a worker; `remote`: of an HTTP worker. */
interface About {
  readonly runtime?: string;
  readonly types?: readonly string[];
  readonly remote?: { readonly activityTypes: readonly string[] };
}

export function workerSummary(row: StoredWorker, isLive: boolean): WorkerSummary {
  const { worker, queue, isSticky, isDraining, seenAt } = row;
  const { runtime = "", types = [], remote } = JSON.parse(row.about) as About;
  return {
    worker,
    queue,
    ...workerCodeOf(row),
    runtime,
    types,
    activities: remote?.activityTypes,
    isSticky,
    isDraining,
    isLive,
    seenAt,
    ...readCache(row),
  };
}

/** Runs whose task has been ready for a while, and that no live worker may claim. */
export function unservedRuns(runs: readonly StoredRun[], workers: readonly WorkerSummary[], now: number): Unserved[] {
  const groups = new Groups("workflow");
  for (const { type, queue, pinned, task } of runs) {
    if (task?.state !== "ready" || task.at === undefined || now - task.at <= STUCK_MS) continue;
    const pin = readPin(pinned);
    const isServed = workers.some(
      (each) =>
        each.isLive &&
        !each.isDraining &&
        each.queue === queue &&
        each.types.includes(type) &&
        mayContinue(pin, type, codeOfSummary(each)),
    );
    if (!isServed) groups.add(type, queue, pin, task.at);
  }
  return groups.all;
}

/** Activities that have been due for a while without a claim. */
export function unservedActivities(rows: readonly StoredReminder[], now: number): Unserved[] {
  const groups = new Groups("activity");
  for (const { key, tick, leasedUntil } of rows) {
    const type = readActivityType(key.type);
    if (type === undefined) continue;
    if (now - tick.at <= STUCK_MS || (leasedUntil !== undefined && leasedUntil > now)) continue;
    groups.add(type.name, type.queue, readPin(undefined), tick.at);
  }
  return groups.all;
}

class Groups {
  readonly #kind: Unserved["kind"];
  readonly #groups = new Map<string, Unserved>();

  constructor(kind: Unserved["kind"]) {
    this.#kind = kind;
  }

  get all(): Unserved[] {
    return [...this.#groups.values()];
  }

  add(type: string, queue: string, { build, definition }: Pin, since: number): void {
    const key = JSON.stringify([type, queue, build, definition]);
    const before = this.#groups.get(key);
    const count = (before?.count ?? 0) + 1;
    const earliest = Math.min(before?.since ?? since, since);
    this.#groups.set(key, { kind: this.#kind, type, queue, build, definition, count, since: earliest });
  }
}
