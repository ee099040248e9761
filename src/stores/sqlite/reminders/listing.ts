// Reads reminders for display: one by its key, or a page of many, alive or dead; and counts them. Each takes
// several statements; the caller holds one read transaction around them.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { LIMITS } from "../../../kernel/limits.ts";
import type {
  DeadReminder,
  ReminderCounts,
  ReminderKey,
  ReminderQuery,
  StoredReminder,
} from "../../../ports/store/reminders.ts";
import { rowsAsArrays } from "../rows-as-arrays.ts";
import { ReminderTypes, type TypeRow } from "./types.ts";

type Head = [id: string, name: string, generation: number, ...tick: [number, number, number, number], schedule: string];
type Data = [data: string | null, bytes: number | null];
type StoredRow = [...Head, ...Data, until: number | null];
type DeadRow = [...Head, ...Data, error: string, diedAt: number];

const HEAD = "SELECT id, name, generation, at, due, number, attempt, schedule";
const DATA =
  "CASE WHEN data_bytes > 0 THEN (SELECT d.data FROM reminder_data d WHERE d.generation = r.generation) ELSE data END";
const stored = (
  data: string,
): string => `${HEAD}, ${data}, CASE WHEN data_bytes > 0 THEN data_bytes ELSE octet_length(data) END,
  (SELECT until FROM reminder_leases l WHERE l.generation = r.generation) FROM reminders r`;
const dead = (data: string): string => `${HEAD}, ${data}, octet_length(data), error, died_at FROM dead_reminders`;
/** Replaces data that was not requested. It is not even read. */
const NO_DATA = "NULL";

/** One range of the names in index order, starting behind the last page: of a type, or of one id. */
const PAGE = "WHERE type_ref = ? AND (id, name) > (?, ?) ORDER BY id, name LIMIT ?";
const PAGE_OF_ID = "WHERE type_ref = ? AND id = ? AND name > ? ORDER BY name LIMIT ?";

interface Pages {
  readonly page: StatementSync;
  readonly ofId: StatementSync;
}

/** With data, and without. */
interface Listings {
  readonly whole: Pages;
  readonly brief: Pages;
}

export class SqliteReminderListing {
  readonly #types: ReminderTypes;
  readonly #get: StatementSync;
  readonly #stored: Listings;
  readonly #dead: Listings;
  readonly #countAll: StatementSync;
  readonly #countOverdue: StatementSync;
  readonly #countDead: StatementSync;

  constructor(db: DatabaseSync) {
    const asArrays = rowsAsArrays(db);
    const pages = (select: string): Pages => {
      return { page: asArrays(`${select} ${PAGE}`), ofId: asArrays(`${select} ${PAGE_OF_ID}`) };
    };
    this.#types = new ReminderTypes(db);
    this.#get = asArrays(`${stored(DATA)} WHERE type_ref = ? AND id = ? AND name = ?`);
    this.#stored = { whole: pages(stored(DATA)), brief: pages(stored(NO_DATA)) };
    this.#dead = { whole: pages(dead("data")), brief: pages(dead(NO_DATA)) };
    // A range of an index for each type, entries only, and no more than requested.
    const upTo = (rows: string): string =>
      `SELECT count(*) FROM (SELECT 1 FROM reminder_types t CROSS JOIN ${rows} LIMIT ?2)`;
    this.#countAll = asArrays(upTo("reminders ON type_ref = t.ref WHERE t.namespace = ?1"));
    this.#countDead = asArrays(upTo("dead_reminders ON type_ref = t.ref WHERE t.namespace = ?1"));
    this.#countOverdue = asArrays(
      upTo(`reminders r ON type_ref = t.ref AND at < ?3 WHERE t.namespace = ?1
        AND NOT EXISTS (SELECT 1 FROM reminder_leases l WHERE l.generation = r.generation AND l.until > ?3)`),
    );
  }

  get({ namespace, type, id, name }: ReminderKey, now: number): StoredReminder | undefined {
    const ref = this.#types.find(namespace, type);
    const row = ref && (this.#get.get(ref, id, name) as unknown as StoredRow | undefined);
    return row ? storedOf(row, namespace, type, now) : undefined;
  }

  list(query: ReminderQuery, now: number): StoredReminder[] {
    return this.#pages(query, this.#stored, (row: StoredRow, type) => storedOf(row, query.namespace, type, now));
  }

  listDead(query: ReminderQuery): DeadReminder[] {
    return this.#pages(query, this.#dead, (row: DeadRow, type) => deadOf(row, query.namespace, type));
  }

  count(namespace: string, limit: number, now: number): ReminderCounts {
    const one = (statement: StatementSync, ...more: number[]): number => {
      return (statement.get(namespace, ...more) as unknown as [number])[0];
    };
    return {
      all: one(this.#countAll, limit),
      overdue: one(this.#countOverdue, limit, now),
      dead: one(this.#countDead, limit),
    };
  }

  #pages<Row, T extends { readonly bytes: number }>(
    query: ReminderQuery,
    { whole, brief }: Listings,
    toItem: (row: Row, type: string) => T,
  ): T[] {
    const found: T[] = [];
    let bytes = 0;
    for (const [ref, type] of this.#typesOf(query)) {
      const left = query.limit - found.length;
      if (left <= 0) break;
      for (const row of rowsOf(query.isBrief ? brief : whole, ref, type, query, left)) {
        const item = toItem(row as Row, type);
        found.push(item);
        if (!query.isBrief) bytes += item.bytes;
        if (bytes >= LIMITS.listBytes) return found;
      }
    }
    return found;
  }

  /** Types that may be on the page, in order. */
  #typesOf({ namespace, type, after }: ReminderQuery): TypeRow[] {
    const ref = type === undefined ? undefined : this.#types.find(namespace, type);
    const types = type === undefined ? this.#types.all(namespace) : ref === undefined ? [] : [[ref, type] as TypeRow];
    return after === undefined ? types : types.filter(([, one]) => order(one, after.type) >= 0);
  }
}

/** Rows of one type, in order; each is read on demand. */
function rowsOf(
  { page, ofId }: Pages,
  ref: number,
  type: string,
  { id, after }: ReminderQuery,
  limit: number,
): Iterable<unknown> {
  const behind = after?.type === type ? after : { id: "", name: "" };
  if (id === undefined) return page.iterate(ref, behind.id, behind.name, limit);
  if (order(id, behind.id) < 0) return [];
  return ofId.iterate(ref, id, behind.id === id ? behind.name : "", limit);
}

/** By code point, as in the database. */
const order = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

function headOf([id, name, generation, at, due, number, attempt, schedule]: Head, namespace: string, type: string) {
  return { key: { namespace, type, id, name }, generation, tick: { at, due, number, attempt }, schedule };
}

function storedOf(row: StoredRow, namespace: string, type: string, now: number): StoredReminder {
  const [id, name, generation, at, due, number, attempt, schedule, data, bytes, until] = row;
  const head = headOf([id, name, generation, at, due, number, attempt, schedule], namespace, type);
  const leasedUntil = until !== null && until > now ? until : undefined;
  return { ...head, data: data ?? undefined, bytes: bytes ?? 0, leasedUntil };
}

function deadOf(row: DeadRow, namespace: string, type: string): DeadReminder {
  const [id, name, generation, at, due, number, attempt, schedule, data, bytes, error, diedAt] = row;
  const head = headOf([id, name, generation, at, due, number, attempt, schedule], namespace, type);
  return { ...head, data: data ?? undefined, bytes: bytes ?? 0, error, diedAt };
}
