// Claims reminders: finds the rows that are due soon and not leased, earliest first over all types. Runs
// inside a write transaction of the caller, so a free row stays free until it has its lease.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { LIMITS } from "../../../kernel/limits.ts";
import type { ClaimRequest } from "../../../ports/store/reminders.ts";
import { rowsAsArrays } from "../rows-as-arrays.ts";
import { type ClaimAnswer, type ClaimedRow, packClaimed } from "./messages.ts";
import { THESE } from "./statements.ts";

type TypeRow = [place: number, ref: number, first: number | null];
type DueRow = [generation: number, at: number];
type ContentRow = [number, string, string, number, number, number, number, string, string | null, number];

/** A row that may be claimed. */
interface Candidate {
  readonly generation: number;
  readonly at: number;
  readonly typePlace: number;
}

export class ReminderClaims {
  readonly #firsts: StatementSync;
  readonly #due: StatementSync;
  readonly #behind: StatementSync;
  readonly #leaseEnd: StatementSync;
  readonly #contents: StatementSync;
  readonly #dataOf: StatementSync;
  readonly #lease: StatementSync;

  constructor(db: DatabaseSync) {
    const asArrays = rowsAsArrays(db);
    // All types at once: a seek for the type and one for its first row. A type without due rows costs no
    // more.
    this.#firsts = asArrays(
      `SELECT j.key, t.ref, (SELECT at FROM reminders WHERE type_ref = t.ref ORDER BY at LIMIT 1)
       FROM json_each(?) j CROSS JOIN reminder_types t ON t.namespace = ? AND t.type = j.value`,
    );
    // One range of the second index without the rows; for each entry a seek in the small table of leases.
    // Rows of other types are not in the range, and a leased one costs a third of a microsecond.
    this.#due = asArrays(
      `SELECT generation, at FROM reminders r
       WHERE type_ref = ?1 AND at <= ?2
         AND NOT EXISTS (SELECT 1 FROM reminder_leases l WHERE l.generation = r.generation AND l.until > ?3)
       ORDER BY at, generation LIMIT ?4`,
    );
    // One seek.
    this.#behind = asArrays("SELECT at FROM reminders WHERE type_ref = ? AND at > ? ORDER BY at LIMIT 1");
    // Reads the leased rows of that range again, only when a claim has capacity left: that is half the cost
    // of returning each of them from the first read.
    this.#leaseEnd = asArrays(
      `SELECT min(l.until) FROM reminders r CROSS JOIN reminder_leases l ON l.generation = r.generation
       WHERE r.type_ref = ? AND r.at <= ? AND l.until > ?`,
    );
    // The rows by primary key, in its order.
    this.#contents = asArrays(
      `SELECT generation, id, name, at, due, number, attempt, schedule, data, data_bytes FROM reminders WHERE ${THESE}`,
    );
    this.#dataOf = asArrays("SELECT data FROM reminder_data WHERE generation = ?");
    // New leases mostly have high generations, so they are adjacent at the end of their table.
    this.#lease = db.prepare(
      "INSERT OR REPLACE INTO reminder_leases (generation, until, token) SELECT value, ?, ? FROM json_each(?)",
    );
  }

  claim({ namespace, types, limit, aheadMs, leaseMs, token }: ClaimRequest, now: number): ClaimAnswer {
    const horizon = now + aheadMs;
    const all = (this.#firsts.all(JSON.stringify(types), namespace) as unknown as TypeRow[]).filter(
      ([, , first]) => first !== null,
    );
    const ready = all.filter(([, , first]) => (first as number) <= horizon);
    const found = this.#candidates(ready, horizon, limit, now);
    const claimed = this.#read(found.slice(0, limit));
    const next = claimed.length < found.length ? now : this.#next(all, ready, horizon, now, aheadMs);
    const generations = claimed.map(({ generation }) => generation);
    if (generations.length > 0) this.#lease.run(now + leaseMs, token, JSON.stringify(generations));
    return packClaimed(claimed, now, next);
  }

  /**
   * The earliest rows of all types, and one more than requested if there is one. The rows found so far bound
   * the search in later types, so a backlog in each of many types is not read `limit` times.
   */
  #candidates(ready: readonly TypeRow[], horizon: number, limit: number, now: number): Candidate[] {
    let found: Candidate[] = [];
    let latest = horizon;
    for (const [typePlace, ref] of ready.slice().sort((a, b) => (a[2] as number) - (b[2] as number))) {
      const rows = this.#due.all(ref, latest, now, limit + 1) as unknown as DueRow[];
      if (rows.length === 0) continue;
      for (const [generation, at] of rows) found.push({ generation, at, typePlace });
      if (found.length > rows.length) found.sort((a, b) => a.at - b.at || a.generation - b.generation);
      if (found.length <= limit) continue;
      found = found.slice(0, limit + 1);
      latest = (found[limit] as Candidate).at;
    }
    return found;
  }

  /** In the order of the candidates, as many as may travel together. */
  #read(candidates: readonly Candidate[]): ClaimedRow[] {
    if (candidates.length === 0) return [];
    const these = JSON.stringify(candidates.map(({ generation }) => generation));
    const contents = new Map((this.#contents.all(these) as unknown as ContentRow[]).map((row) => [row[0], row]));
    const claimed: ClaimedRow[] = [];
    let bytes = 0;
    for (const { generation, typePlace } of candidates) {
      const [, id, name, at, due, number, attempt, schedule, inline, dataBytes] = contents.get(
        generation,
      ) as ContentRow;
      bytes += dataBytes;
      if (bytes > LIMITS.claimBytes && claimed.length > 0) break;
      const data = dataBytes === 0 ? inline : (this.#dataOf.get(generation) as unknown as [string])[0];
      claimed.push({ generation, typePlace, id, name, tick: { at, due, number, attempt }, schedule, data });
    }
    return claimed;
  }

  /**
   * The earliest time at which one more could be claimed, or a little before it: it reads the first row
   * behind the claim for each type.
   */
  #next(all: readonly TypeRow[], ready: readonly TypeRow[], horizon: number, now: number, aheadMs: number) {
    let next = Number.POSITIVE_INFINITY;
    for (const [, , first] of all) if ((first as number) > horizon) next = Math.min(next, (first as number) - aheadMs);
    for (const [, ref] of ready) {
      const behind = this.#behind.get(ref, horizon) as unknown as [number] | undefined;
      if (behind !== undefined) next = Math.min(next, behind[0] - aheadMs);
      const [end] = this.#leaseEnd.get(ref, horizon, now) as unknown as [number | null];
      if (end !== null) next = Math.min(next, end);
    }
    return next === Number.POSITIVE_INFINITY ? undefined : next;
  }
}
