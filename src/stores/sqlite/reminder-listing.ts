// Looking at reminders: one by its key, or a page of many, alive or dead; and counting them. Several statements each; whoever calls
// holds one read transaction around it.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type {
  DeadReminder,
  ReminderCounts,
  ReminderKey,
  ReminderQuery,
  StoredReminder,
} from "../../ports/reminders.ts";
import { ReminderTypes, type TypeRow } from "./reminder-types.ts";

type Head = [id: string, name: string, generation: number, ...tick: [number, number, number, number], schedule: string];
type StoredRow = [...Head, data: string | null, until: number | null];
type DeadRow = [...Head, data: string | null, error: string, diedAt: number];

const STORED = `SELECT id, name, generation, at, due, number, attempt, schedule,
  CASE WHEN data_bytes > 0 THEN (SELECT d.data FROM reminder_data d WHERE d.generation = r.generation) ELSE data END,
  (SELECT until FROM reminder_leases l WHERE l.generation = r.generation) FROM reminders r`;
const DEAD =
  "SELECT id, name, generation, at, due, number, attempt, schedule, data, error, died_at FROM dead_reminders";

/** One range of the names, already in order, that starts behind the last page: of a type, or of one id. */
const PAGE = "WHERE type_ref = ? AND (id, name) > (?, ?) ORDER BY id, name LIMIT ?";
const PAGE_OF_ID = "WHERE type_ref = ? AND id = ? AND name > ? ORDER BY name LIMIT ?";

interface Pages {
  readonly page: StatementSync;
  readonly ofId: StatementSync;
}

export class ReminderListing {
  readonly #types: ReminderTypes;
  readonly #get: StatementSync;
  readonly #stored: Pages;
  readonly #dead: Pages;
  readonly #countAll: StatementSync;
  readonly #countOverdue: StatementSync;
  readonly #countDead: StatementSync;

  constructor(db: DatabaseSync) {
    const asArrays = (sql: string): StatementSync => {
      const statement = db.prepare(sql);
      statement.setReturnArrays(true);
      return statement;
    };
    const pages = (select: string): Pages => {
      return { page: asArrays(`${select} ${PAGE}`), ofId: asArrays(`${select} ${PAGE_OF_ID}`) };
    };
    this.#types = new ReminderTypes(db);
    this.#get = asArrays(`${STORED} WHERE type_ref = ? AND id = ? AND name = ?`);
    this.#stored = pages(STORED);
    this.#dead = pages(DEAD);
    // A range of an index for each type, entries only.
    const ofAllTypes = "FROM reminder_types t CROSS JOIN";
    this.#countAll = asArrays(`SELECT count(*) ${ofAllTypes} reminders ON type_ref = t.ref WHERE t.namespace = ?`);
    this.#countDead = asArrays(
      `SELECT count(*) ${ofAllTypes} dead_reminders ON type_ref = t.ref WHERE t.namespace = ?`,
    );
    this.#countOverdue = asArrays(
      `SELECT count(*) FROM (SELECT 1 ${ofAllTypes} reminders r ON type_ref = t.ref AND at < ?2 WHERE t.namespace = ?1
         AND NOT EXISTS (SELECT 1 FROM reminder_leases l WHERE l.generation = r.generation AND l.until > ?2) LIMIT ?3)`,
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
    return { all: one(this.#countAll), overdue: one(this.#countOverdue, now, limit), dead: one(this.#countDead) };
  }

  #pages<Row, T>(query: ReminderQuery, { page, ofId }: Pages, toItem: (row: Row, type: string) => T): T[] {
    const { id, after, limit } = query;
    const found: T[] = [];
    for (const [ref, type] of this.#typesOf(query)) {
      if (found.length >= limit) break;
      const left = limit - found.length;
      const behind = after?.type === type ? after : { id: "", name: "" };
      if (id === undefined) {
        const rows = page.all(ref, behind.id, behind.name, left) as unknown as Row[];
        for (const row of rows) found.push(toItem(row, type));
      } else if (order(id, behind.id) >= 0) {
        const rows = ofId.all(ref, id, behind.id === id ? behind.name : "", left) as unknown as Row[];
        for (const row of rows) found.push(toItem(row, type));
      }
    }
    return found;
  }

  /** Types that a page may have something of, in order. */
  #typesOf({ namespace, type, after }: ReminderQuery): TypeRow[] {
    const ref = type === undefined ? undefined : this.#types.find(namespace, type);
    const types = type === undefined ? this.#types.all(namespace) : ref === undefined ? [] : [[ref, type] as TypeRow];
    return after === undefined ? types : types.filter(([, one]) => order(one, after.type) >= 0);
  }
}

/** By code point, as the database has it. */
const order = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

function headOf([id, name, generation, at, due, number, attempt, schedule]: Head, namespace: string, type: string) {
  return { key: { namespace, type, id, name }, generation, tick: { at, due, number, attempt }, schedule };
}

function storedOf(row: StoredRow, namespace: string, type: string, now: number): StoredReminder {
  const [data, until] = [row[8], row[9]];
  const [id, name, generation, at, due, number, attempt, schedule] = row;
  const head = headOf([id, name, generation, at, due, number, attempt, schedule], namespace, type);
  return { ...head, data: data ?? undefined, leasedUntil: until !== null && until > now ? until : undefined };
}

function deadOf(row: DeadRow, namespace: string, type: string): DeadReminder {
  const [id, name, generation, at, due, number, attempt, schedule, data, error, diedAt] = row;
  const head = headOf([id, name, generation, at, due, number, attempt, schedule], namespace, type);
  return { ...head, data: data ?? undefined, error, diedAt };
}
