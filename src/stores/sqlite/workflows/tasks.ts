// The rows of tasks, one per open run: all columns of a run that change often, and nothing that is long. `at`
// is the time from which a claim should read a ready or leased task, and the only time in the index. For a
// ready task it is exact. A leased task has the end of its lease in `until`, and in `at` the same or an
// earlier end. So a holder that renews its lease touches no index, and a claim that reads the task too early
// corrects `at` (claims.ts).

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Affinity, RunStart, TaskReturn } from "../../../ports/store/workflows.ts";
import { IDLE, LEASED, READY } from "../../task-states.ts";
import { rowsAsArrays } from "../rows-as-arrays.ts";

export interface TaskRow {
  readonly state: number;
  readonly token: string | null;
  readonly at: number;
  readonly last: number;
  readonly bytes: number;
  readonly delivered: number;
  readonly taken: number;
  readonly isWatched: boolean;
  readonly stickyWorker: string | null;
}

/** The new values of the row after a step. */
export interface TaskAdvance {
  readonly last: number;
  readonly bytes: number;
  readonly taken: number;
  readonly affinity: Affinity | undefined;
}

type Row = [number, string | null, number, number, number, number, number, number, string | null];

export class WorkflowTasks {
  readonly #read: StatementSync;
  readonly #insert: StatementSync;
  readonly #keep: StatementSync;
  readonly #keepAnew: StatementSync;
  readonly #rest: StatementSync;
  readonly #setDelivered: StatementSync;
  readonly #woken: StatementSync;
  readonly #wake: StatementSync;
  readonly #forgive: StatementSync;
  readonly #renew: StatementSync;
  readonly #renewAnew: StatementSync;
  readonly #giveBack: StatementSync;
  readonly #watch: StatementSync;
  readonly #drop: StatementSync;

  constructor(db: DatabaseSync) {
    const asArrays = rowsAsArrays(db);
    this.#read = asArrays(
      `SELECT state, token, at, last, bytes, arrived, taken, watched, sticky_worker FROM workflow_tasks WHERE ref = ?`,
    );
    // At the end of the table, like its run.
    this.#insert = db.prepare(
      `INSERT INTO workflow_tasks
         (ref, kind, state, at, until, last, bytes, arrived, taken, attempt, watched, claimed_at, token, worker, build)
       VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, ?, 0, ?, ?, ?, ?)`,
    );
    // The hot statement: one short row by primary key, no index touched.
    this.#keep = db.prepare(
      "UPDATE workflow_tasks SET last = ?, bytes = ?, taken = ?, until = ?, sticky_until = ? WHERE ref = ?",
    );
    // For an affinity to another worker than before, or a shorter lease.
    this.#keepAnew = db.prepare(
      `UPDATE workflow_tasks SET last = ?, bytes = ?, taken = ?, until = ?, sticky_until = ?, at = ?, sticky_worker = ?
       WHERE ref = ?`,
    );
    // The token stays, so that a repeated step is recognised.
    this.#rest = db.prepare(
      `UPDATE workflow_tasks SET last = ?, bytes = ?, taken = ?, state = ?, at = ?, sticky_until = ?, sticky_worker = ?,
         attempt = 0, worker = NULL, problem = NULL WHERE ref = ?`,
    );
    this.#setDelivered = db.prepare("UPDATE workflow_tasks SET arrived = ? WHERE ref = ?");
    this.#woken = db.prepare(`UPDATE workflow_tasks SET arrived = ?, state = ${READY}, at = ? WHERE ref = ?`);
    // A task that is already ready keeps its place.
    this.#wake = db.prepare(
      `UPDATE workflow_tasks SET state = ${READY}, at = CASE state WHEN ${READY} THEN min(at, ?1) ELSE ?1 END
       WHERE ref = ?2 AND state <> ${LEASED}`,
    );
    this.#forgive = db.prepare(`UPDATE workflow_tasks SET lost = 0 WHERE ref = ? AND state <> ${LEASED}`);
    this.#renew = db.prepare(
      `UPDATE workflow_tasks SET until = ?1 WHERE ref = ?2 AND token = ?3 AND state = ${LEASED} AND at <= ?1`,
    );
    this.#renewAnew = db.prepare(
      `UPDATE workflow_tasks SET until = ?1, at = ?1 WHERE ref = ?2 AND token = ?3 AND state = ${LEASED}`,
    );
    // Nothing of the former holder counts any more.
    this.#giveBack = db.prepare(
      `UPDATE workflow_tasks SET state = ${READY}, at = ?1, attempt = attempt - (?2 IS NULL), problem = coalesce(?2, problem),
         sticky_worker = CASE WHEN ?2 IS NULL THEN sticky_worker END, sticky_until = CASE WHEN ?2 IS NULL THEN sticky_until END,
         token = NULL, worker = NULL WHERE ref = ?3 AND token = ?4 AND state = ${LEASED}`,
    );
    this.#watch = db.prepare("UPDATE workflow_tasks SET watched = 1 WHERE ref = ? AND watched = 0");
    this.#drop = db.prepare("DELETE FROM workflow_tasks WHERE ref = ?");
  }

  read(ref: number): TaskRow | undefined {
    const row = this.#read.get(ref) as unknown as Row | undefined;
    if (row === undefined) return undefined;
    const [state, token, at, last, bytes, delivered, taken, watched, stickyWorker] = row;
    return { state, token, at, last, bytes, delivered, taken, isWatched: watched === 1, stickyWorker };
  }

  put(ref: number, kind: number, bytes: number, start: RunStart, now: number): void {
    const { first, delayMs, lease, pinned } = start;
    const until = lease === undefined ? 0 : now + lease.leaseMs;
    const [state, at] = lease === undefined ? [READY, now + delayMs] : [LEASED, until];
    const [attempt, claimedAt] = lease === undefined ? [0, null] : [1, now];
    const holder = [lease?.token ?? null, lease?.worker ?? null] as const;
    this.#insert.run(ref, kind, state, at, until, first.count, bytes, attempt, claimedAt, ...holder, pinned ?? null);
  }

  keep(
    ref: number,
    before: TaskRow,
    { last, bytes, taken, affinity }: TaskAdvance,
    leaseMs: number,
    now: number,
  ): void {
    const [until, worker, stickyUntil] = [now + leaseMs, affinity?.worker ?? null, endOf(affinity, now)];
    if (worker === before.stickyWorker && before.at <= until) {
      this.#keep.run(last, bytes, taken, until, stickyUntil, ref);
    } else {
      this.#keepAnew.run(last, bytes, taken, until, stickyUntil, until, worker, ref);
    }
  }

  rest(ref: number, delivered: number, { last, bytes, taken, affinity }: TaskAdvance, now: number): void {
    const state = delivered > taken ? READY : IDLE;
    this.#rest.run(last, bytes, taken, state, now, endOf(affinity, now), affinity?.worker ?? null, ref);
  }

  /** Sets the number of delivered messages. */
  setDelivered(ref: number, before: TaskRow, delivered: number, now: number): void {
    if (before.state === IDLE) this.#woken.run(delivered, now, ref);
    else this.#setDelivered.run(delivered, ref);
  }

  wake(ref: number, now: number): void {
    this.#wake.run(now, ref);
  }

  /** Resets the count of lost attempts. */
  forgive(ref: number): void {
    this.#forgive.run(ref);
  }

  /** Returns the tasks that are lost. */
  renew(refs: readonly number[], tokens: readonly string[], until: number): number[] {
    return refs.filter((ref, i) => {
      const token = tokens[i] as string;
      if (this.#renew.run(until, ref, token).changes === 1) return false;
      return this.#renewAnew.run(until, ref, token).changes !== 1;
    });
  }

  giveBack(batch: readonly TaskReturn[], now: number): boolean[] {
    return batch.map(({ ref, token, pauseMs, problem }) => {
      return this.#giveBack.run(now + pauseMs, problem ?? null, ref, token).changes === 1;
    });
  }

  watch(ref: number): void {
    this.#watch.run(ref);
  }

  drop(ref: number): void {
    this.#drop.run(ref);
  }
}

const endOf = (affinity: Affinity | undefined, now: number): number | null =>
  affinity === undefined ? null : now + affinity.ms;
