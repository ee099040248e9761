// Where claims begin to look. The rows that were due first are gone, but until vacuum may remove them (and while any transaction on
// the server is older than they are, it may not) each claim passes over all of them: after an hour of that, claims take seconds.
//
// So when many dead rows lie around, claims of a type begin at its *low mark*: behind it nothing was alive when we last looked. That is
// a cure with a side effect, a row that somebody else sets for a moment long past is found late, so it is used only then; our own
// rows lower the mark, those of others do when we are told of them, and a sweep from the very beginning finds the rest.
//
// A mark is a place in the index, by moment and generation: a million rows may be due in the same millisecond.
import { bigints, texts } from "./arrays.ts";
import type { Connections, Statement } from "./connections.ts";
import { inQueue, queueOf } from "./reminder-queue.ts";

/** So many dead rows are worth it; passing over them takes some ten milliseconds. */
const MANY_DEAD = 20_000;
/** How often the dead rows are counted. */
const COUNT_MS = 5_000;
/** How often everything is looked at while the marks are used. */
const SWEEP_MS = 30_000;
/** The mark stays behind the clock by this, for rows that are due now and whose transaction is on its way. */
const MARGIN_MS = 2_000;

/** The place of a row among those of its type. */
export interface Mark {
  readonly at: number;
  readonly generation: number;
}

/** Types as rows `a`, from arrays of their names, their numbers, and both halves of their marks. */
export const askedOf = (types: string, queues: string, ats: string, generations: string): string =>
  `unnest(${types}::text[], ${queues}::bigint[], ${ats}::bigint[], ${generations}::bigint[]) AS a (type, queue, low, low_generation)`;

/** The order of a type's rows in the index (reminder-tables.ts). */
export const IN_ORDER = "r.at, r.generation + 0";

/** Whether row `r` does not lie below the mark of its type, as a condition that the index begins with. */
export const atOrBehind = (asked: string): string => `(${IN_ORDER}) >= (${asked}.low, ${asked}.low_generation)`;

/** What the statistics say; nothing is read for it. */
export const countDead = (schema: string): Statement => ({
  name: "limpet_count_dead_rows",
  text: `SELECT pg_stat_get_dead_tuples(to_regclass('${schema}.reminders'))`,
});

/** The first living row of each type that lies below its mark. It passes over the dead ones, so claims do not wait for it. */
export const sweepBelow = (schema: string): Statement => ({
  name: "limpet_sweep_reminders",
  text: `
    SELECT a.type, f.at FROM ${askedOf("$2", "$3", "$4", "$5")}
    CROSS JOIN LATERAL (
      SELECT r.at FROM ${schema}.reminders r
      WHERE ${inQueue("$1", "a")} AND (${IN_ORDER}) < (a.low, a.low_generation)
      ORDER BY ${IN_ORDER} LIMIT 1) f`,
});

/** Whether claims may overlook a row that is due then. `now` is the server's clock. */
export const isLongAgo = (at: number, now: number): boolean => at < now - MARGIN_MS;

export interface Lows {
  readonly areUsed: boolean;
  /** One for each type asked for. */
  readonly marks: readonly Mark[];
  /** How many rows of long ago had been written by then. */
  readonly stragglers: number;
}

/** Before everything: rows may be due long before 1970. */
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

  /** Where claims of these types begin. Looks after itself from time to time, beside the claims. */
  of(namespace: string, types: readonly string[]): Lows {
    if (performance.now() > this.#countedAt + COUNT_MS) void this.look();
    const stragglers = this.#stragglers;
    if (!this.#areUsed) return { areUsed: false, marks: types.map(() => NONE), stragglers };
    const known = this.#marks.get(namespace) ?? new Map<string, Mark>();
    this.#marks.set(namespace, known);
    for (const type of types) if (!known.has(type)) known.set(type, NONE);
    return { areUsed: true, marks: types.map((type) => known.get(type) as Mark), stragglers };
  }

  /** A claim that began with `lows` found the first living row of a type at `first`, or none from its mark on. */
  saw(namespace: string, type: string, first: Mark | undefined, now: number, lows: Lows): void {
    // It may not have seen a row that was written meanwhile.
    if (lows.stragglers !== this.#stragglers) return;
    const marks = this.#marks.get(namespace);
    const mark = marks?.get(type);
    const latest = { at: now - MARGIN_MS, generation: 0 };
    const low = first !== undefined && isBelow(first, latest) ? first : latest;
    if (mark !== undefined && isBelow(mark, low)) marks?.set(type, low);
  }

  /** There is a row of long ago; without a type, of any type. */
  straggler(namespace: string, type: string | undefined, at: number): void {
    if (!this.#areUsed) return;
    this.#stragglers++;
    const marks = this.#marks.get(namespace);
    const low = { at, generation: 0 };
    for (const [one, mark] of marks ?? []) {
      if (isBelow(low, mark) && (type === undefined || one === type)) marks?.set(one, low);
    }
  }

  /** Counts the dead rows, and sweeps when it is time. One at a time; what fails is done next time. */
  look(): Promise<void> {
    this.#looking ??= this.#connections
      .during(() => this.#look())
      // The claim beside which this runs meets the same trouble, and tells of it.
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
