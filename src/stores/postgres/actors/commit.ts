// Commits a batch with one statement. A row changes only if its epoch and version are still the writer's.
//
// Three statements, tried in this order:
// 1. Small states only, which is nearly every batch: one UPDATE, one round trip, one transaction.
// 2. Commits that the first statement left, or a batch with chunks: lock the rows that are owned and free,
//   then write heads and chunks together. A variant with reminders is in commit-reminders.ts. If a commit
//   starts or signals workflows, the workflow statements run in the same transaction.
// 3. Commits that were left out: read their heads, to distinguish a commit that had already been applied from
//   a fenced one.

import { setTimeout as pause } from "node:timers/promises";
import { backoffMs } from "../../../kernel/backoff.ts";
import { invariant } from "../../../kernel/errors.ts";
import { LIMITS } from "../../../kernel/limits.ts";
import { bringsLease, type ReminderWrite } from "../../../ports/store/reminders.ts";
import type { Commit, CommitOutcome, CommitVerdict, Locked } from "../../../ports/store/store.ts";
import type { OwnTakes } from "../../own-takes.ts";
import { bigints, texts } from "../connection/arrays.ts";
import type { Connections, Row, Runner, Statement } from "../connection/connections.ts";
import { asAmbiguous } from "../connection/faults.ts";
import { isLocked } from "../connection/while-held.ts";
import {
  bringsReminders,
  commitRounds,
  commitWithReminders,
  generationsOf,
  OWNERS_PARAMETER,
  reminderValues,
} from "../reminders/commit-reminders.ts";

const SMALL = 0;
const LARGE = 1;
const CHANGE = 2;
const CLEAR = 3;
const KEEP = 4;
type Kind = typeof SMALL | typeof LARGE | typeof CHANGE | typeof CLEAR | typeof KEEP;

/**
 * Rewrites small states in place. `unnest` drives and the primary key finds each row, in the order of refs,
 * so two batches never deadlock. `base = 0` leaves rows with chunks to the second statement, which saves a
 * lookup here. The statement returns one row: the number of rows written, and their refs unless all were
 * written. (Reading the heads afterwards would be cheaper and wrong: another process may have taken and
 * changed a row by then, and an applied commit would look fenced.)
 *
 * The statement waits briefly (`lock_timeout`) for a row that another transaction holds. SKIP LOCKED would
 * never wait, but it visits and logs each row twice. That costs a quarter of the throughput, for a rare case.
 */
export const commitSmall = (schema: string): Statement => ({
  name: "limpet_commit_small",
  text: `
    WITH done AS (
      UPDATE ${schema}.actors a
      SET version = a.version + 1, commit_id = i.commit_id, state = i.data,
          bytes = coalesce(octet_length(i.data), 0), committed_at = now()
      FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[])
        AS i (ref, epoch, version, commit_id, data)
      WHERE a.ref = i.ref AND a.epoch = i.epoch AND a.version = i.version AND a.base = 0 AND a.owner = ANY ($6::text[])
      RETURNING a.ref
    )
    SELECT count(*), CASE WHEN count(*) < cardinality($1::bigint[]) THEN array_agg(ref)::text[] END FROM done`,
});

/**
 * Locks the heads that this process owns and no other transaction holds. `owners`: number of the parameter
 * with the incarnations of this process.
 */
const lockMine = (schema: string, owners: number) => `
      SELECT i.ref, i.version + 1 AS version, i.data, i.kind, a.base
      FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $5::text[], $6::bigint[]) AS i (ref, epoch, version, data, kind)
      CROSS JOIN LATERAL (
        SELECT a.base FROM ${schema}.actors a
        WHERE a.ref = i.ref AND a.epoch = i.epoch AND a.version = i.version
          AND a.owner = ANY ($${owners}::text[])
          AND (i.kind <> ${CHANGE} OR a.state IS NOT NULL OR a.base > 0)
        FOR NO KEY UPDATE SKIP LOCKED) a`;

/**
 * Writes heads and chunks of the rows that `mine` locked. It joins no table: the planner starts a join with
 * the table as long as its statistics report an almost empty one. Each row finds its values by its place in
 * the batch, which is in the order of refs.
 */
const writeMine = (schema: string) => `heads AS (
      UPDATE ${schema}.actors a
      SET (version, commit_id, committed_at, state, base, bytes) = (
        SELECT a.version + 1, ($4::text[])[n.place], now(),
               CASE WHEN n.kind = ${SMALL} THEN n.data WHEN n.kind IN (${CHANGE}, ${KEEP}) THEN a.state END,
               CASE WHEN n.kind = ${LARGE} OR n.kind = ${CHANGE} AND a.base = 0 THEN a.version + 1
                    WHEN n.kind IN (${CHANGE}, ${KEEP}) THEN a.base ELSE 0 END,
               coalesce(octet_length(n.data), 0) + CASE WHEN n.kind IN (${CHANGE}, ${KEEP}) THEN a.bytes ELSE 0 END
        FROM (SELECT p.place, ($5::text[])[p.place] AS data, ($6::bigint[])[p.place] AS kind
              FROM (SELECT width_bucket(a.ref, $1::bigint[]) AS place OFFSET 0) p OFFSET 0) n)
      WHERE a.ref = ANY (ARRAY(SELECT m.ref FROM mine m))
      RETURNING a.ref
    ), replaced AS (
      DELETE FROM ${schema}.actor_parts p
      WHERE p.ref = ANY (ARRAY(SELECT m.ref FROM mine m WHERE m.base > 0 AND m.kind NOT IN (${CHANGE}, ${KEEP})))
    ), added AS (
      INSERT INTO ${schema}.actor_parts (ref, version, data)
      SELECT m.ref, m.version, m.data FROM mine m WHERE m.kind IN (${LARGE}, ${CHANGE})
    )`;

/**
 * Writes any mixture of commits and never waits: it leaves out rows that another transaction holds. The rows
 * locked by `mine` drive everything, so heads and chunks change together or not at all.
 *
 * Deleting and inserting chunks by the statement's snapshot is safe, although the head may be newer than the
 * snapshot. Every transaction that changes chunks also raises the version of the head. The version found here
 * is the one the writer knew before this statement began.
 */
export const commitAny = (schema: string): Statement => ({
  name: "limpet_commit_any",
  text: `
    WITH mine AS MATERIALIZED (${lockMine(schema, 7)}
    ), ${writeMine(schema)}
    SELECT count(*), CASE WHEN count(*) < cardinality($1::bigint[]) THEN array_agg(ref)::text[] END FROM heads`,
});

export const commitReminders = (schema: string): Statement =>
  commitWithReminders(schema, lockMine(schema, OWNERS_PARAMETER), writeMine(schema));

/** One primary key visit per row. */
export const readHeads = (schema: string): Statement => ({
  name: "limpet_read_heads",
  text: `
    SELECT a.ref, a.epoch, a.version, a.commit_id, a.state IS NOT NULL OR a.base > 0, a.owner
    FROM ${schema}.actors a
    WHERE a.ref = ANY ($1::bigint[])`,
});

type HeadRow = [ref: number, epoch: number, version: number, commitId: string | null, stored: boolean, owner: string];

/** A commit in progress. It has no outcome while another transaction holds its row. */
interface Pending {
  readonly commit: Commit;
  readonly kind: Kind;
  outcome: CommitVerdict | Locked;
  /** Generations of the reminders that it set with leases. */
  generations?: readonly (number | undefined)[];
}

/** Called with the reminders that commits have written; `now` is the server's clock. */
export type Wrote = (writes: readonly ReminderWrite[], now: number) => void;

/**
 * Applies the workflow operations of commits, in their transaction. `send` is called once the transaction is
 * committed.
 */
export type WithWorkflows = (runner: Runner, commits: readonly Commit[]) => Promise<{ readonly send: () => void }>;

export class Commits {
  readonly #connections: Connections;
  readonly #small: Statement;
  readonly #any: Statement;
  readonly #reminders: Statement;
  readonly #heads: Statement;
  readonly #heldMs: number;
  readonly #wrote: Wrote;
  readonly #withWorkflows: WithWorkflows;
  readonly #own: OwnTakes;

  /** `heldMs`: how long rows that other transactions hold are retried. */
  constructor(
    connections: Connections,
    schema: string,
    heldMs: number,
    own: OwnTakes,
    wrote: Wrote,
    withWorkflows: WithWorkflows,
  ) {
    this.#own = own;
    this.#connections = connections;
    this.#small = commitSmall(schema);
    this.#any = commitAny(schema);
    this.#reminders = commitReminders(schema);
    this.#heads = readHeads(schema);
    this.#heldMs = heldMs;
    this.#wrote = wrote;
    this.#withWorkflows = withWorkflows;
  }

  /** `"locked"` for a commit whose row another transaction holds; nothing happened to it. */
  async commit(batch: readonly Commit[]): Promise<(CommitOutcome | Locked)[]> {
    if (batch.length === 0) return [];
    const all = batch.map((commit): Pending => ({ commit, kind: kindOf(commit), outcome: "locked" }));
    const inOrder = all.slice().sort((a, b) => a.commit.ref - b.commit.ref);
    // Results are matched by row. With two commits to one row, the refused one would pass for the written
    // one.
    for (let i = 1; i < inOrder.length; i++) {
      invariant(inOrder[i]!.commit.ref !== inOrder[i - 1]!.commit.ref, "no actor is twice in one batch");
    }
    try {
      if (batch.some(bringsMore)) await this.#settle(inOrder, (left, tries) => this.#writeReminders(left, tries));
      else await this.#settle(await this.#writeSmall(inOrder), (left) => this.#write(this.#any, left));
    } catch (error) {
      throw all.some(({ outcome }) => outcome === "committed") ? asAmbiguous(error) : error;
    }
    return all.map(({ outcome, generations }) => (generations ? { kind: "committed", generations } : outcome));
  }

  /**
   * Runs the first statement, if it fits. Returns the commits that it did not write and whose rows still have
   * the expected version. It returns all commits if a row stayed locked, because then it wrote nothing.
   */
  async #writeSmall(pending: readonly Pending[]): Promise<readonly Pending[]> {
    if (!pending.every(({ kind }) => kind === SMALL || kind === CLEAR)) return pending;
    let left: readonly Pending[];
    try {
      left = await this.#write(this.#small, pending);
    } catch (error) {
      if (isLocked(error)) return pending;
      throw error;
    }
    return this.#classify(left);
  }

  /**
   * Repeats the second statement until every commit has an outcome, or only rows remain that other
   * transactions keep locked.
   */
  async #settle(
    pending: readonly Pending[],
    write: (left: readonly Pending[], tries: number) => Promise<readonly Pending[]>,
  ): Promise<void> {
    const deadline = performance.now() + this.#heldMs;
    let left = pending;
    for (let attempt = 1; left.length > 0; attempt++) {
      left = await this.#classify(await write(left, attempt));
      // The second attempt splits the batch, so that one locked row does not delay the other commits.
      if (left.length === 0 || (attempt > 1 && performance.now() > deadline)) return;
      await pause(backoffMs(attempt, 1, 64, Math.random()));
    }
  }

  /** The second statement with reminders. */
  async #writeReminders(pending: readonly Pending[], tries: number): Promise<readonly Pending[]> {
    const left: Pending[] = [];
    for (const round of commitRounds(pending)) left.push(...(await this.#writeRound(round, tries > 1)));
    return left;
  }

  /**
   * `halve`: splits the round to find a reminder that another transaction keeps locked, so that it delays
   * only its own commit.
   */
  async #writeRound(round: readonly Pending[], halve: boolean): Promise<readonly Pending[]> {
    try {
      return await this.#write(this.#reminders, round);
    } catch (error) {
      if (!isLocked(error)) throw error;
    }
    if (round.length === 1 || !halve) return round;
    const half = Math.ceil(round.length / 2);
    const first = await this.#writeRound(round.slice(0, half), halve);
    return [...first, ...(await this.#writeRound(round.slice(half), halve))];
  }

  async #write(statement: Statement, pending: readonly Pending[]): Promise<readonly Pending[]> {
    const values = [
      bigints(pending.map(({ commit }) => commit.ref)),
      bigints(pending.map(({ commit }) => commit.epoch)),
      bigints(pending.map(({ commit }) => commit.version)),
      texts(pending.map(({ commit }) => commit.id)),
      texts(pending.map(({ commit: { write } }) => ("data" in write ? write.data : undefined))),
    ];
    if (statement !== this.#small) values.push(bigints(pending.map(({ kind }) => kind)));
    if (statement === this.#reminders) values.push(...reminderValues(pending.map(({ commit }) => commit)));
    values.push(texts(this.#own.owners));
    const { row, notify } = await this.#run(statement, values, pending);
    const { isWritten, now, voided, generations } = writtenBy(row, pending);
    const left: Pending[] = [];
    for (const one of pending) {
      if (isWritten(one)) done(one, generations);
      else if (voided.has(one.commit.ref)) one.outcome = "void";
      else left.push(one);
    }
    if (now !== undefined) {
      const committed = pending.filter(({ outcome }) => outcome === "committed");
      this.#wrote(
        committed.flatMap(({ commit }) => commit.reminders ?? []),
        now,
      );
    }
    notify?.();
    return left;
  }

  /** Applies the workflow operations of the commits that were written, in the same transaction. */
  async #run(
    statement: Statement,
    values: unknown[],
    pending: readonly Pending[],
  ): Promise<{ readonly row: Row; readonly notify?: () => void }> {
    if (!pending.some(({ commit }) => bringsWorkflows(commit))) {
      const [row] = await this.#connections.run(statement, values, "doubtful");
      return { row: row as Row };
    }
    return this.#connections.transaction(async (runner) => {
      const [row] = await runner.run(statement, values, "doubtful");
      const { isWritten } = writtenBy(row as Row, pending);
      const written = pending.filter(isWritten).map(({ commit }) => commit);
      const notifications = await this.#withWorkflows(runner, written);
      return { row: row as Row, notify: () => notifications.send() };
    });
  }

  /**
   * Decides the commits whose row has moved on. Returns the commits whose row still has the expected version.
   */
  async #classify(pending: readonly Pending[]): Promise<readonly Pending[]> {
    if (pending.length === 0) return pending;
    const refs = bigints(pending.map(({ commit }) => commit.ref));
    const rows = (await this.#connections.run(this.#heads, [refs], "harmless")) as HeadRow[];
    const heads = new Map(rows.map((row) => [row[0], row]));
    return pending.filter((one) => {
      const { ref, epoch, version, id } = one.commit;
      const head = heads.get(ref);
      const waits =
        head !== undefined && head[3] !== id && head[1] === epoch && head[2] === version && this.#own.has(head[5]);
      if (waits) invariant(one.kind !== CHANGE || head[4], "a change is committed on top of a whole state");
      else one.outcome = head?.[3] === id ? "committed" : "fenced";
      return waits;
    });
  }
}

const bringsWorkflows = ({ starts, messages }: Commit): boolean =>
  (starts?.length ?? 0) > 0 || (messages?.length ?? 0) > 0;

const bringsMore = (commit: Commit): boolean => bringsReminders(commit) || bringsWorkflows(commit);

type CommittedRow = [
  count: number,
  refs: string[] | null,
  now?: number,
  voids?: string[] | null,
  given?: string[] | null,
  stands?: string[] | null,
];

/** Decodes the row that a statement returns. */
function writtenBy(row: Row, pending: readonly Pending[]) {
  const [count, refs, now, voids, given, stands] = row as CommittedRow;
  const all = count === pending.length;
  const written = new Set(refs?.map(Number));
  const isWritten = ({ commit }: Pending) => all || written.has(commit.ref);
  const commits = given ? pending.map(({ commit }) => commit) : [];
  const generations = given ? generationsOf(commits, given, stands ?? null) : undefined;
  return { isWritten, now, voided: new Set(voids?.map(Number)), generations };
}

function done(one: Pending, generations: ReadonlyMap<ReminderWrite, number> | undefined): void {
  const { reminders = [] } = one.commit;
  one.outcome = "committed";
  if (generations && bringsLease(reminders)) one.generations = reminders.map((write) => generations.get(write));
}

function kindOf({ write }: Commit): Kind {
  if (write.kind === "clear") return CLEAR;
  if (write.kind === "keep") return KEEP;
  if (write.kind === "change") return CHANGE;
  const { data } = write;
  const surely = data.length * 3 <= LIMITS.inlineStateBytes;
  return surely || Buffer.byteLength(data) <= LIMITS.inlineStateBytes ? SMALL : LARGE;
}
