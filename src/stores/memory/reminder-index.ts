// The reminders of one type in memory: by name, in the order in which they are due, and dead ones separately.
import { LIMITS } from "../../kernel/limits.ts";
import type { DeadReminder, ReminderContent, ReminderKey, ReminderQuery, Tick } from "../../ports/store/reminders.ts";
import { byCodePoint } from "./code-points.ts";
import { DueOrder } from "./due-order.ts";

/** One reminder. Its tick changes only while the row is not in the due order. */
export interface ReminderRow {
  readonly generation: number;
  readonly key: ReminderKey;
  content: ReminderContent;
  tick: Tick;
  /** The time of the tick. */
  at: number;
  /**
   * Counts until another token replaces it, independent of the clock. `undefined`: no process has claimed it.
   */
  token: string | undefined;
  leasedUntil: number;
}

type Names = Pick<ReminderKey, "id" | "name">;
type After = ReminderQuery["after"];

/** Ids, then names: words are never joined. */
class Drawer<T> {
  readonly #items = new Map<string, Map<string, T>>();
  size = 0;

  get({ id, name }: Names): T | undefined {
    return this.#items.get(id)?.get(name);
  }

  put({ id, name }: Names, item: T): void {
    const names = this.#items.get(id) ?? new Map<string, T>();
    if (!names.has(name)) this.size++;
    this.#items.set(id, names.set(name, item));
  }

  drop({ id, name }: Names): void {
    const names = this.#items.get(id);
    if (!names?.delete(name)) return;
    this.size--;
    if (names.size === 0) this.#items.delete(id);
  }

  /** In order, behind `after`; all items, or the items of one id. */
  *from(id: string | undefined, after: Names | undefined): Generator<T, void, undefined> {
    const ids = id === undefined ? [...this.#items.keys()].sort(byCodePoint) : [id];
    for (const one of ids) {
      const behind = after === undefined ? 1 : byCodePoint(one, after.id);
      const names = this.#items.get(one);
      if (behind < 0 || names === undefined) continue;
      for (const name of [...names.keys()].sort(byCodePoint)) {
        if (behind === 0 && after !== undefined && byCodePoint(name, after.name) <= 0) continue;
        yield names.get(name) as T;
      }
    }
  }
}

export class ReminderIndex {
  readonly due = new DueOrder<ReminderRow>();
  readonly rows = new Drawer<ReminderRow>();
  readonly dead = new Drawer<DeadReminder>();

  put(row: ReminderRow): void {
    this.rows.put(row.key, row);
    this.due.add(row);
  }

  drop(row: ReminderRow): void {
    this.rows.drop(row.key);
    this.due.remove(row);
  }

  moveOn(row: ReminderRow, tick: Tick): void {
    this.due.remove(row);
    row.tick = tick;
    row.at = tick.at;
    this.due.add(row);
  }
}

/** The indexes of one namespace, by type. */
export type ReminderIndexes = Map<string, ReminderIndex>;

/** A page from one list of each index, in the order of type, id and name. */
export function reminderPage<T, Shown extends ReminderContent & { readonly bytes: number }>(
  indexes: ReminderIndexes,
  { type, id, after, limit, isBrief = false }: ReminderQuery,
  listOf: (index: ReminderIndex) => { from(id: string | undefined, after: Names | undefined): Iterable<T> },
  shown: (item: T) => Shown,
): Shown[] {
  const page: Shown[] = [];
  let bytes = 0;
  for (const one of [...indexes.keys()].sort(byCodePoint)) {
    if (type !== undefined && one !== type) continue;
    const behind = placeOf(one, after);
    if (behind < 0) continue;
    for (const item of listOf(indexes.get(one) as ReminderIndex).from(id, behind === 0 ? after : undefined)) {
      if (page.length >= limit || bytes >= LIMITS.listBytes) return page;
      const one = shown(item);
      page.push(isBrief ? { ...one, data: undefined } : one);
      if (!isBrief) bytes += one.bytes;
    }
  }
  return page;
}

const placeOf = (type: string, after: After): number => (after === undefined ? 1 : byCodePoint(type, after.type));
