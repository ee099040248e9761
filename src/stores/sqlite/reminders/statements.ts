// The rows of reminders: setting, cancelling, settling. One SQL verb, one statement, its performance story
// above it. Every method runs inside a write transaction of the caller, and may run again after a rollback.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { LIMITS } from "../../../kernel/limits.ts";
import type {
  ReminderContent,
  ReminderKey,
  ReminderWrite,
  Rewriting,
  Settlement,
  Tick,
} from "../../../ports/store/reminders.ts";
import { rowsAsArrays } from "../rows-as-arrays.ts";
import type { RemindAnswer } from "./messages.ts";
import { ReminderTypes } from "./types.ts";

type Known = [generation: number, dataBytes: number];
type HeldRow = [generation: number, token: string, number: number, attempt: number, dataBytes: number];

/** The claimed rows of a batch of settlements, by generation. */
export type HeldRows = ReadonlyMap<number, HeldRow>;
type DeadRow = [due: number, number: number, schedule: string, data: string | null];

/** Any number of rows, by primary key, with one statement: the numbers travel as JSON. */
export const THESE = "generation IN (SELECT value FROM json_each(?))";

export class ReminderStatements {
  readonly #types: ReminderTypes;
  readonly #reserve: StatementSync;
  readonly #last: StatementSync;
  readonly #known: StatementSync;
  readonly #insert: StatementSync;
  readonly #delete: StatementSync;
  readonly #deleteThese: StatementSync;
  readonly #putData: StatementSync;
  readonly #dropData: StatementSync;
  readonly #putLease: StatementSync;
  readonly #dropLease: StatementSync;
  readonly #dropLeases: StatementSync;
  readonly #renewLease: StatementSync;
  readonly #renewLeases: StatementSync;
  readonly #leased: StatementSync;
  readonly #held: StatementSync;
  readonly #moveOn: StatementSync;
  readonly #rewrite: StatementSync;
  readonly #bury: StatementSync;
  readonly #dead: StatementSync;
  readonly #unbury: StatementSync;

  constructor(db: DatabaseSync) {
    const asArrays = rowsAsArrays(db);
    this.#types = new ReminderTypes(db);

    // The one row, by its key, once for a batch: it reserves as many numbers as the batch needs, and none of
    // them ever again.
    this.#reserve = db.prepare("UPDATE reminder_generations SET last = last + ? WHERE one = 1");
    this.#last = asArrays("SELECT last FROM reminder_generations WHERE one = 1");

    // Set: one seek by name finds the row to replace, and a new row goes to the end of the table with an
    // entry in both indexes. INSERT OR REPLACE would save the seek, and leave behind the separate data of the
    // old row.
    this.#known = asArrays("SELECT generation, data_bytes FROM reminders WHERE type_ref = ? AND id = ? AND name = ?");
    this.#insert = db.prepare(
      `INSERT INTO reminders (generation, type_ref, id, name, at, due, number, attempt, schedule, data, data_bytes)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#delete = db.prepare("DELETE FROM reminders WHERE generation = ?");
    this.#deleteThese = db.prepare(`DELETE FROM reminders WHERE ${THESE}`);
    this.#putData = db.prepare("INSERT INTO reminder_data (generation, data) VALUES (?, ?)");
    this.#dropData = db.prepare("DELETE FROM reminder_data WHERE generation = ?");

    // Leases: a table with a row for each claimed reminder.
    this.#putLease = db.prepare("INSERT OR REPLACE INTO reminder_leases (generation, until, token) VALUES (?, ?, ?)");
    this.#dropLease = db.prepare("DELETE FROM reminder_leases WHERE generation = ?");
    this.#dropLeases = db.prepare(`DELETE FROM reminder_leases WHERE ${THESE}`);
    this.#renewLease = db.prepare("UPDATE reminder_leases SET until = ? WHERE generation = ?");
    this.#renewLeases = db.prepare(`UPDATE reminder_leases SET until = ? WHERE token = ? AND ${THESE}`);
    this.#leased = asArrays(`SELECT generation FROM reminder_leases WHERE token = ? AND ${THESE}`);

    // Settle: the claimed rows are read once for the whole batch. All `done` settlements together take two
    // statements.
    this.#held = asArrays(
      `SELECT generation, token, number, attempt, data_bytes FROM reminder_leases JOIN reminders USING (generation)
       WHERE ${THESE}`,
    );
    // The row, which is short because large data is stored separately, and its place in the due order.
    this.#moveOn = db.prepare("UPDATE reminders SET at = ?, due = ?, number = ?, attempt = ? WHERE generation = ?");
    this.#rewrite = db.prepare("UPDATE reminders SET data = ?, data_bytes = ? WHERE generation = ?");
    this.#bury = db.prepare(
      `INSERT OR REPLACE INTO dead_reminders
         (type_ref, id, name, generation, at, due, number, attempt, died_at, schedule, error, data)
       SELECT type_ref, id, name, generation, ?, ?, ?, ?, ?, schedule, ?,
         coalesce(data, (SELECT data FROM reminder_data WHERE generation = r.generation))
       FROM reminders r WHERE generation = ?`,
    );
    this.#dead = asArrays(
      "SELECT due, number, schedule, data FROM dead_reminders WHERE type_ref = ? AND id = ? AND name = ?",
    );
    this.#unbury = db.prepare("DELETE FROM dead_reminders WHERE type_ref = ? AND id = ? AND name = ?");
  }

  write(batch: readonly ReminderWrite[], now: number): RemindAnswer {
    const sets = batch.reduce((sum, { kind }) => sum + (kind === "set" ? 1 : 0), 0);
    let generation = sets === 0 ? 0 : this.#next(sets);
    const refs = this.#refs();
    return batch.map((write): number => {
      const { key } = write;
      const ref = refs(key);
      const before = this.#known.get(ref, key.id, key.name) as unknown as Known | undefined;
      if (write.kind === "set" && write.isNew && before !== undefined) return 0;
      if (before !== undefined) this.#drop(before);
      if (write.kind === "cancel") return before === undefined ? 0 : 1;
      const mine = generation++;
      this.#put(mine, ref, key, write.tick, write.content);
      if (write.lease !== undefined) this.#putLease.run(mine, now + write.lease.leaseMs, write.lease.token);
      return mine;
    });
  }

  /** The rows that `settle` needs. */
  held(batch: readonly Settlement[]): HeldRows {
    if (batch.length === 0) return NOTHING;
    const rows = this.#held.all(JSON.stringify(batch.map(({ generation }) => generation))) as unknown as HeldRow[];
    return new Map(rows.map((row) => [row[0], row]));
  }

  settle(batch: readonly Settlement[], now: number, rows: HeldRows = this.held(batch)): boolean[] {
    const held = new Map(rows);
    const gone: HeldRow[] = [];
    const free: number[] = [];
    const counted = batch.map((settlement): boolean => {
      const { generation } = settlement;
      const row = held.get(generation);
      if (row === undefined || !counts(settlement, held)) return false;
      if (settlement.kind === "next") {
        const { tick, leaseMs } = settlement;
        this.#moveOn.run(tick.at, tick.due, tick.number, tick.attempt, generation);
        [row[2], row[3]] = [tick.number, tick.attempt];
        if (leaseMs !== undefined) {
          this.#renewLease.run(now + leaseMs, generation);
          return true;
        }
      } else if (settlement.kind !== "release") {
        if (settlement.kind === "dead") {
          const { at, due, number, attempt } = settlement.tick;
          this.#bury.run(at, due, number, attempt, now, settlement.error, generation);
        }
        gone.push(row);
      }
      free.push(generation);
      held.delete(generation);
      return true;
    });
    if (gone.length > 0) this.#deleteThese.run(JSON.stringify(gone.map(([generation]) => generation)));
    for (const [generation, , , , dataBytes] of gone) if (dataBytes > 0) this.#dropData.run(generation);
    if (free.length > 0) this.#dropLeases.run(JSON.stringify(free));
    return counted;
  }

  rewrite(batch: readonly Rewriting[], now: number): boolean[] {
    const settlements = batch.map(({ data: _, ...next }): Settlement => ({ kind: "next", ...next }));
    const held = this.held(settlements);
    const counted = this.settle(settlements, now, held);
    for (const [i, { generation, data }] of batch.entries()) {
      if (counted[i] !== true) continue;
      const bytes = bytesApart(data);
      if (held.get(generation)![4] > 0) this.#dropData.run(generation);
      this.#rewrite.run(bytes > 0 ? null : data, bytes, generation);
      if (bytes > 0) this.#putData.run(generation, data);
    }
    return counted;
  }

  renew(generations: readonly number[], tokens: readonly string[], until: number): number[] {
    const byToken = Map.groupBy(generations, (_, i) => tokens[i]!);
    return [...byToken].flatMap(([token, some]) => this.#renewSome(some, token, until));
  }

  #renewSome(generations: readonly number[], token: string, until: number): number[] {
    const these = JSON.stringify(generations);
    if (this.#renewLeases.run(until, token, these).changes === generations.length) return [];
    const held = new Set((this.#leased.all(token, these) as unknown as [number][]).map(([generation]) => generation));
    return generations.filter((generation) => !held.has(generation));
  }

  revive(key: ReminderKey, now: number): boolean {
    const { namespace, type, id, name } = key;
    const ref = this.#types.find(namespace, type);
    if (ref === undefined || this.#known.get(ref, id, name) !== undefined) return false;
    const dead = this.#dead.get(ref, id, name) as unknown as DeadRow | undefined;
    if (dead === undefined) return false;
    const [due, number, schedule, data] = dead;
    this.#put(this.#next(1), ref, key, { at: now, due, number, attempt: 0 }, { schedule, data: data ?? undefined });
    this.#unbury.run(ref, id, name);
    return true;
  }

  forget({ namespace, type, id, name }: ReminderKey): boolean {
    const ref = this.#types.find(namespace, type);
    return ref !== undefined && this.#unbury.run(ref, id, name).changes === 1;
  }

  /** Reserves so many new generations and returns the first. */
  #next(count: number): number {
    this.#reserve.run(count);
    const [last] = this.#last.get() as unknown as [number];
    return last - count + 1;
  }

  /** Most writes of a batch have the same type as the one before. */
  #refs(): (key: ReminderKey) => number {
    let last: ReminderKey | undefined;
    let ref = 0;
    return (key) => {
      if (key.type !== last?.type || key.namespace !== last.namespace) ref = this.#types.make(key.namespace, key.type);
      last = key;
      return ref;
    };
  }

  #put(generation: number, ref: number, key: ReminderKey, tick: Tick, { schedule, data }: ReminderContent): void {
    const { at, due, number, attempt } = tick;
    const bytes = data === undefined ? 0 : bytesApart(data);
    const inline = bytes > 0 ? null : (data ?? null);
    this.#insert.run(generation, ref, key.id, key.name, at, due, number, attempt, schedule, inline, bytes);
    if (bytes > 0) this.#putData.run(generation, data as string);
  }

  #drop([generation, dataBytes]: Known): void {
    this.#delete.run(generation);
    this.#dropLease.run(generation);
    if (dataBytes > 0) this.#dropData.run(generation);
  }
}

const NOTHING: HeldRows = new Map();

/** The token decides, not the clock: an ended lease still counts until another process claims the row. */
export function counts(settlement: Settlement, held: HeldRows): boolean {
  const row = held.get(settlement.generation);
  if (row === undefined || row[1] !== settlement.token) return false;
  return settlement.kind !== "next" || !isBefore(settlement.tick, row);
}

/**
 * True for a settlement that comes too late: its response was lost, it was sent again, and others followed
 * before the first one arrived.
 */
function isBefore(tick: Tick, [, , number, attempt]: HeldRow): boolean {
  return tick.number < number || (tick.number === number && tick.attempt < attempt);
}

/**
 * The number of bytes that are stored separately: 0 for small data. A UTF-16 unit is one to three bytes, so
 * most texts need no counting.
 */
function bytesApart(data: string): number {
  if (data.length * 3 <= LIMITS.inlineStateBytes) return 0;
  const bytes = Buffer.byteLength(data);
  return bytes <= LIMITS.inlineStateBytes ? 0 : bytes;
}
