// Computes the places in the index where claims start. Rows that were due first are deleted, but vacuum
// cannot remove them while any older transaction runs on the server. Until then each claim passes over all of
// them: after an hour, claims take seconds.
//
// When there are many dead rows, claims of a type therefore start at its *low mark*: at the last check, no
// live row lay below it. The side effect is that a claim finds a row late if another process sets it for a
// time long past. So marks are used only with many dead rows. Rows of this process lower the mark, rows of
// other processes lower it through notifications, and a sweep from the very beginning finds the rest.
//
// A mark is a place in the index, by time and generation: a million rows may be due in the same millisecond.
import { bigints, texts } from "../connection/arrays.ts";
import type { Connections, Statement } from "../connection/connections.ts";
import { inQueue, queueOf } from "./queue.ts";

/** Marks are used from this many dead rows on; passing over them takes about ten milliseconds. */
const MANY_DEAD = 20_000;
/** Interval between two counts of the dead rows. */
const COUNT_MS = 5_000;
/** Interval between two sweeps while the marks are used. */
const SWEEP_MS = 30_000;
/**
 * The mark stays behind the clock by this, for rows that are due now and whose transaction is in progress.
 */
const MARGIN_MS = 2_000;

/** The place of a row among the rows of its type. */
export interface Mark {
  readonly at: number;
  readonly generation: number;
}

/** Types as rows `a`, from arrays of their names, their numbers, and both halves of their marks. */
export const askedOf = (types: string, queues: string, ats: string, generations: string): string =>
  `unnest(${types}::text[], ${queues}::bigint[], ${ats}::bigint[], ${generations}::bigint[]) AS a (type, queue, low, low_generation)`;

/** The order of a type's rows in the index (reminder-tables.ts). */
export const IN_ORDER = "r.at, r.generation + 0";

/** Condition that row `r` is not below the mark of its type; the index scan starts with it. */
export const atOrBehind = (asked: string): string => `(${IN_ORDER}) >= (${asked}.low, ${asked}.low_generation)`;

/** Reads the server's statistics, not the table. */
export const countDead = (schema: string): Statement => ({
  name: "limpet_count_dead_rows",
  text: `SELECT pg_stat_get_dead_tuples(to_regclass('${schema}.reminders'))`,
});

/**
 * The first live row of each type below its mark. The sweep passes over dead rows, so it runs beside the
 * claims.
 */
export const sweepBelow = (schema: string): Statement => ({
  name: "limpet_sweep_reminders",
  text: `
    SELECT a.type, f.at FROM ${askedOf("$2", "$3", "$4", "$5")}
    CROSS JOIN LATERAL (
      SELECT r.at FROM ${schema}.reminders r
      WHERE ${inQueue("$1", "a")} AND (${IN_ORDER}) < (a.low, a.low_generation)
      ORDER BY ${IN_ORDER} LIMIT 1) f`,
});

/** A claim that uses marks may overlook a row due at `at`. `now` is the server's clock. */
export const isLongAgo = (at: number, now: number): boolean => at < now - MARGIN_MS;

export interface Lows {
  readonly areUsed: boolean;
  /** One mark per requested type. */
  readonly marks: readonly Mark[];
  /** Number of rows due long ago that had been written by then. */
  readonly stragglers: number;
}

/** Before every row: rows may be due long before 1970. */
const NONE: Mark = { at: Number.MIN_SAFE_INTEGER, generation: 0 };

const isBelow = (a: Mark, b: Mark): boolean => a.at < b.at || (a.at === b.at && a.generation < b.generation);

export class LowMarks {
  readonly #connections: Connections;
  readonly #countDead: Statement;
  readonly #sweepBelow: Statement;
  readonly #manyDead: number;
  readonly #marks = new Map<string, Map<string, Mark>>();
  #areUsed = false;
  #stragglers = 0;
  #countedAt = Number.NEGATIVE_INFINITY;
  #sweptAt = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | undefined;

  constructor(connections: Connections, schema: string, manyDead = MANY_DEAD) {
    this.#connections = connections;
    this.#countDead = countDead(schema);
    this.#sweepBelow = sweepBelow(schema);
    this.#manyDead = manyDead;
  }

  /** Where claims of these types start. From time to time it also starts a check, beside the claims. */
  of(namespace: string, types: readonly string[]): Lows {
    if (performance.now() > this.#countedAt + COUNT_MS) void this.look();
    const stragglers = this.#stragglers;
    if (!this.#areUsed) return { areUsed: false, marks: types.map(() => NONE), stragglers };
    const known = this.#marks.get(namespace) ?? new Map<string, Mark>();
    this.#marks.set(namespace, known);
    for (const type of types) if (!known.has(type)) known.set(type, NONE);
    return { areUsed: true, marks: types.map((type) => known.get(type) as Mark), stragglers };
  }

  /**
   * A claim that began with `lows` found the first live row of a type at `first`, or none from its mark on.
   */
  saw(namespace: string, type: string, first: Mark | undefined, now: number, lows: Lows): void {
    // The claim may have missed a row that was written meanwhile.
    if (lows.stragglers !== this.#stragglers) return;
    const marks = this.#marks.get(namespace);
    const mark = marks?.get(type);
    const latest = { at: now - MARGIN_MS, generation: 0 };
    const low = first !== undefined && isBelow(first, latest) ? first : latest;
    if (mark !== undefined && isBelow(mark, low)) marks?.set(type, low);
  }

  /** Reports a row that was due long ago; without a type, of any type. */
  straggler(namespace: string, type: string | undefined, at: number): void {
    if (!this.#areUsed) return;
    this.#stragglers++;
    const marks = this.#marks.get(namespace);
    const low = { at, generation: 0 };
    for (const [one, mark] of marks ?? []) {
      if (isBelow(low, mark) && (type === undefined || one === type)) marks?.set(one, low);
    }
  }

  /**
   * Counts the dead rows, and sweeps when the interval has passed. One check runs at a time; the next one
   * repeats a failed one.
   */
  look(): Promise<void> {
    this.#looking ??= this.#connections
      .during(() => this.#look())
      // The claim beside this check meets the same failure and reports it.
      .catch(() => undefined)
      .finally(() => {
        this.#looking = undefined;
      });
    return this.#looking;
  }

  async #look(): Promise<void> {
    this.#countedAt = performance.now();
    const [row] = await this.#connections.run(this.#countDead, [], "harmless");
    this.#areUsed = ((row?.[0] as number | null | undefined) ?? 0) > this.#manyDead;
    if (!this.#areUsed) this.#marks.clear();
    else if (this.#countedAt > this.#sweptAt + SWEEP_MS) await this.sweep();
  }

  async sweep(): Promise<void> {
    this.#sweptAt = performance.now();
    for (const [namespace, marks] of this.#marks) {
      const types = [...marks.keys()];
      const queues = types.map((type) => queueOf(namespace, type));
      const lows = [...marks.values()];
      const places = [bigints(lows.map(({ at }) => at)), bigints(lows.map(({ generation }) => generation))];
      const values = [namespace, texts(types), bigints(queues), ...places];
      for (const row of await this.#connections.run(this.#sweepBelow, values, "harmless")) {
        const [type, at] = row as [string, number];
        this.straggler(namespace, type, at);
      }
    }
  }
}
