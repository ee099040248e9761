// Claims tasks: finds the ready and free tasks that the worker may take. Runs inside a write transaction of
// the caller. The index has only ready or leased tasks, by kind, pin and affinity, and within these groups by
// time. So a claim reads the due tasks of its groups, and never idle tasks, closed runs or other kinds.

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { ClaimedTask, ReplayMode, TaskClaim, TaskClaims } from "../../../ports/store/workflows.ts";
import { LEASED } from "../../task-states.ts";
import { rowsAsArrays } from "../rows-as-arrays.ts";
import { LOST_ATTEMPTS, modeCode } from "./codes.ts";
import type { SqliteWorkflowWorkers } from "./workers.ts";

/** Rows that are read at once. */
const PORTION = 256;
/**
 * Tasks of a group that one claim skips, such as tasks with affinity to a living worker. Tasks behind them
 * are found when these are gone.
 */
const PASSED_OVER = 1_000;

/** Tasks of a kind with the same pin and with affinity for one worker; null: no pin, no affinity. */
interface Group {
  readonly kind: number;
  readonly type: string;
  readonly pinned: string | null;
  readonly nextPin: string | null;
  readonly owner: string | null;
  /** The group belongs to another worker, which counts as dead from this time on. */
  readonly ownedUntil: number | undefined;
}

interface Candidate {
  readonly ref: number;
  readonly at: number;
  readonly type: string;
  readonly mode: ReplayMode;
  /** The current pin, and the pin that the claim gives it. */
  readonly pinned: string | null;
  readonly nextPin: string | null;
}

/** The results of reading one group so far. */
interface Walk {
  /**
   * Tasks that the worker has in memory, and all others that it may take: of each at most one more than
   * requested.
   */
  readonly hits: Candidate[];
  readonly others: Candidate[];
  passedOver: number;
}

type DueRow = [ref: number, at: number, state: number, until: number, stickyUntil: number | null];
type TaskRow = [string, string, attempt: number, lost: number, last: number, taken: number, delivered: number];

/** The state of one claim in progress. */
class Search {
  readonly request: TaskClaim;
  readonly now: number;
  /**
   * Claims correct the times of leases up to here, so that the next time they return is exact and not one of
   * many early ones.
   */
  readonly horizon: number;
  next = Number.POSITIVE_INFINITY;

  constructor(request: TaskClaim, now: number) {
    this.request = request;
    this.now = now;
    this.horizon = now + request.lease.leaseMs / 2;
  }

  comesAt(moment: number): void {
    if (moment < this.next) this.next = moment;
  }
}

export class SqliteWorkflowClaims {
  readonly #workers: SqliteWorkflowWorkers;
  readonly #kinds: StatementSync;
  readonly #nextOwner: StatementSync;
  readonly #due: StatementSync;
  readonly #behind: StatementSync;
  readonly #moveOn: StatementSync;
  readonly #lease: StatementSync;
  readonly #pin: readonly StatementSync[];
  readonly #task: StatementSync;

  constructor(db: DatabaseSync, workers: SqliteWorkflowWorkers) {
    const asArrays = rowsAsArrays(db);
    this.#workers = workers;
    // All types at once, a seek for each.
    this.#kinds = asArrays(
      `SELECT k.ref, k.type FROM json_each(?) j
       CROSS JOIN workflow_kinds k ON k.namespace = ? AND k.queue = ? AND k.type = j.value`,
    );
    const group = "FROM workflow_tasks WHERE state <> 0 AND kind = ? AND build IS ?";
    // One seek that jumps over all tasks of a worker.
    this.#nextOwner = asArrays(`SELECT sticky_worker ${group} AND sticky_worker >= ? ORDER BY sticky_worker LIMIT 1`);
    // A range of the index in its order, and the row of each.
    this.#due = asArrays(
      `SELECT ref, at, state, until, sticky_until ${group} AND sticky_worker IS ? AND at >= ?4 AND at <= ?6
         AND (at > ?4 OR ref > ?5) ORDER BY at, ref LIMIT ?7`,
    );
    // One seek.
    this.#behind = asArrays(`SELECT at ${group} AND sticky_worker IS ? AND at > ? ORDER BY at LIMIT 1`);
    this.#moveOn = db.prepare("UPDATE workflow_tasks SET at = until WHERE ref = ?");
    this.#lease = db.prepare(
      `UPDATE workflow_tasks SET state = ${LEASED}, token = ?, worker = ?, at = ?3, until = ?3, mode = ?, claimed_at = ?,
         attempt = attempt + 1, lost = ${LOST_ATTEMPTS} WHERE ref = ?`,
    );
    // Once or twice in the life of a run.
    this.#pin = ["tasks", "runs"].map((table) => db.prepare(`UPDATE workflow_${table} SET build = ? WHERE ref = ?`));
    this.#task = asArrays(
      `SELECT workflow_id, run_id, attempt, lost, last, taken, t.arrived
       FROM workflow_tasks t CROSS JOIN workflow_runs r ON r.ref = t.ref WHERE t.ref = ?`,
    );
  }

  /** Implements the rules of src/workflows/matching.md: `mayHit` is rule 1, `isLeft` is rule 3. */
  claim(request: TaskClaim, now: number): TaskClaims {
    const search = new Search(request, now);
    const found = this.#groups(request, now).flatMap((group) => this.#candidates(group, search));
    found.sort(byPreference);
    const claimed = found.slice(0, request.limit);
    if (found.length > claimed.length) search.comesAt(now);
    const tasks = claimed.map((one) => this.#take(one, request, now));
    return { now, tasks, next: search.next === Number.POSITIVE_INFINITY ? undefined : search.next };
  }

  /** All groups with tasks that this worker may take. */
  #groups(request: TaskClaim, now: number): Group[] {
    const { namespace, queue, types, isSticky, staleMs, lease } = request;
    const live = isSticky ? this.#workers.live(namespace, now - staleMs) : new Map<string, number>();
    live.delete(lease.worker);
    const names = JSON.stringify(types.map(({ type }) => type));
    const kinds = this.#kinds.all(names, namespace, queue) as unknown as [number, string][];
    const pinsByType = new Map(types.map((one) => [one.type, one.pins]));
    const groups: Group[] = [];
    for (const [kind, type] of kinds) {
      for (const { pinned = null, pins: nextPin = null } of pinsByType.get(type) ?? []) {
        const some = { kind, type, pinned, nextPin };
        groups.push({ ...some, owner: null, ownedUntil: undefined });
        for (const owner of this.#owners(kind, pinned)) {
          const seenAt = live.get(owner);
          groups.push({ ...some, owner, ownedUntil: seenAt === undefined ? undefined : seenAt + staleMs });
        }
      }
    }
    return groups;
  }

  *#owners(kind: number, pinned: string | null): Iterable<string> {
    for (let from = ""; ; ) {
      const [owner] = (this.#nextOwner.get(kind, pinned, from) as unknown as [string] | undefined) ?? [];
      if (owner === undefined) return;
      yield owner;
      // The next possible text.
      from = `${owner}\0`;
    }
  }

  /** The first available tasks, and one more than requested if there is one. */
  #candidates(group: Group, search: Search): readonly Candidate[] {
    const { kind, pinned, owner } = group;
    const walk: Walk = { hits: [], others: [], passedOver: 0 };
    let [at, ref] = [0, 0];
    for (;;) {
      const rows = this.#due.all(kind, pinned, owner, at, ref, search.horizon, PORTION) as unknown as DueRow[];
      if (this.#putInPlace(rows)) continue;
      const isEnough = sift(rows, group, search, walk);
      if (isEnough || rows.length < PORTION) {
        if (!isEnough) this.#lookBehind(group, search);
        return [...walk.hits, ...walk.others];
      }
      [ref, at] = rows[PORTION - 1] as DueRow;
    }
  }

  #lookBehind({ kind, pinned, owner }: Group, search: Search): void {
    const behind = this.#behind.get(kind, pinned, owner, search.horizon) as unknown as [number] | undefined;
    if (behind !== undefined) search.comesAt(behind[0]);
  }

  /**
   * Moves renewed leases, whose time in the index is too early, to their end. True when there were some, so
   * that the rows are read again.
   */
  #putInPlace(rows: readonly DueRow[]): boolean {
    const early = rows.filter(([, at, state, until]) => state === LEASED && until > at);
    for (const [ref] of early) this.#moveOn.run(ref);
    return early.length > 0;
  }

  #take({ ref, type, mode, pinned: before, nextPin }: Candidate, request: TaskClaim, now: number): ClaimedTask {
    const { namespace, lease } = request;
    if (nextPin !== before) for (const pin of this.#pin) pin.run(nextPin, ref);
    this.#lease.run(lease.token, lease.worker, now + lease.leaseMs, modeCode(mode), now, ref);
    const row = this.#task.get(ref) as unknown as TaskRow;
    const [workflowId, runId, attempt, lost, last, taken, delivered] = row;
    const [{ token }, pinned] = [lease, nextPin ?? undefined];
    return { namespace, workflowId, runId, ref, type, token, attempt, lost, mode, pinned, last, taken, delivered };
  }
}

/** True when no later row need be read. */
function sift(rows: readonly DueRow[], group: Group, search: Search, walk: Walk): boolean {
  const { now, request } = search;
  const mayHit = group.owner === request.lease.worker && request.isSticky;
  for (const row of rows) {
    const [ref, at, , , sticky] = row;
    const stickyUntil = sticky ?? 0;
    if (at > now) {
      search.comesAt(at);
      return true;
    }
    const isLeft = group.ownedUntil !== undefined && stickyUntil > now;
    if (isLeft) search.comesAt(Math.min(stickyUntil, group.ownedUntil));
    const mode = modeFor(group, row, search);
    const found = mode === "sticky_hit_expected" ? walk.hits : walk.others;
    if (isLeft || found.length > request.limit) {
      if (++walk.passedOver >= PASSED_OVER) return true;
    } else {
      const { type, pinned, nextPin } = group;
      found.push({ ref, at, type, mode, pinned, nextPin });
    }
    if ((mayHit ? walk.hits : walk.others).length > request.limit) return true;
  }
  return false;
}

function modeFor({ owner }: Group, [, at, state, , sticky]: DueRow, { request, now }: Search): ReplayMode {
  const stickyUntil = sticky ?? 0;
  if (request.isSticky && stickyUntil > now && owner === request.lease.worker) return "sticky_hit_expected";
  // The affinity when the task became ready; a task that was leased is not new. Affinity that was ended early
  // is negative.
  const hadAffinity = owner !== null && (state === LEASED || Math.abs(stickyUntil) > at);
  return hadAffinity ? "forced_cold_replay" : "cold_replay";
}

/** Runs in the worker's memory come first; then the tasks that have been ready for longest. */
function byPreference(a: Candidate, b: Candidate): number {
  const isHit = ({ mode }: Candidate): number => (mode === "sticky_hit_expected" ? 1 : 0);
  return isHit(b) - isHit(a) || a.at - b.at || a.ref - b.ref;
}
