// A cron expression as a set of wall times, one per matching second. It answers three queries: the next
// match, the previous one, and the number between two times. It knows no zones. Queries jump from field to
// field and from month to month, so none takes longer than a few microseconds, for any expression and any
// span.
import { daysInMonth, monthOfYear, weekdayOf } from "./calendar.ts";
import type { Field } from "./cron-field.ts";

/**
 * An expression that matches at all does so within this many years: 29 February is the same weekday again
 * after at most forty, because 2100, 2200 and 2300 have none.
 */
const SEARCH_MONTHS = 40 * 12 + 1;

/** The values of a field of the time of day, as tables by value. */
class Values {
  readonly count: number;
  readonly first: number;
  readonly last: number;
  /** The smallest allowed value that is at least this; 255 when there is none. */
  readonly #next: Uint8Array;
  /** How many allowed values are smaller than this. */
  readonly #below: Uint8Array;
  readonly #values: readonly number[];

  constructor(values: readonly number[], size: number) {
    this.#values = values;
    this.count = values.length;
    this.first = values[0]!;
    this.last = values.at(-1)!;
    this.#next = Uint8Array.from({ length: size + 1 }, (_, at) => values.find((value) => value >= at) ?? 255);
    this.#below = Uint8Array.from({ length: size + 1 }, (_, at) => values.filter((value) => value < at).length);
  }

  has(value: number): boolean {
    return this.#next[value] === value;
  }

  atLeast(value: number): number | undefined {
    const next = this.#next[value]!;
    return next === 255 ? undefined : next;
  }

  below(value: number): number | undefined {
    return this.#values[this.#below[value]! - 1];
  }

  countBelow(value: number): number {
    return this.#below[value]!;
  }
}

export class CronPattern {
  readonly text: string;
  /** It matches in every hour of a day. */
  readonly everyHour: boolean;
  readonly #seconds: Values;
  readonly #minutes: Values;
  readonly #hours: Values;
  readonly #perDay: number;
  /** Bit 0 is January. */
  readonly #months: number;
  /** By the weekday of the first of a month: its matching days. Bit 0 is the first. */
  readonly #days: readonly number[];

  /** The six fields in their order. */
  constructor(text: string, fields: readonly Field[]) {
    const [seconds, minutes, hours, monthDays, months, weekdays] = fields as [Field, Field, Field, Field, Field, Field];
    this.text = text;
    this.#seconds = new Values(seconds.values, 60);
    this.#minutes = new Values(minutes.values, 60);
    this.#hours = new Values(hours.values, 24);
    this.#perDay = this.#seconds.count * this.#minutes.count * this.#hours.count;
    this.everyHour = this.#hours.count === 24;
    this.#months = months.values.reduce((bits, month) => bits | (1 << (month - 1)), 0);
    const byDate = monthDays.values.reduce((bits, day) => bits | (1 << (day - 1)), 0);
    // When both fields restrict the day, one match is enough, as in every cron.
    const either = !monthDays.star && !weekdays.star;
    this.#days = Array.from({ length: 7 }, (_, first) => {
      let byWeekday = 0;
      for (let day = 0; day < 31; day += 1) if (weekdays.values.includes((first + day) % 7)) byWeekday |= 1 << day;
      return either ? byDate | byWeekday : byDate & byWeekday;
    });
  }

  /** The first matching time that is not before `wall`; undefined when there never is one. */
  next(wall: number): number | undefined {
    const date = new Date(Math.ceil(wall / 1_000) * 1_000);
    const year = date.getUTCFullYear();
    const month = date.getUTCMonth();
    const day = date.getUTCDate();
    let days = this.#matchingDays(year, month);
    if (days & (1 << (day - 1))) {
      const time = this.#timeFrom(date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds());
      if (time !== undefined) return Date.UTC(year, month, day) + time;
    }
    // The days after this one; in the months after that, any day.
    days &= (-1 << (day - 1)) << 1;
    for (let ahead = 0; ahead <= SEARCH_MONTHS; ahead += 1) {
      if (ahead > 0) days = this.#matchingDays(year, month + ahead);
      if (days === 0) continue;
      const first = 32 - Math.clz32(days & -days);
      const time = timeOf(this.#hours.first, this.#minutes.first, this.#seconds.first);
      return Date.UTC(year, month + ahead, first) + time;
    }
    return undefined;
  }

  /** The last matching time that is not after `wall`. */
  previous(wall: number): number | undefined {
    const date = new Date(Math.floor(wall / 1_000) * 1_000);
    const year = date.getUTCFullYear();
    const month = date.getUTCMonth();
    const day = date.getUTCDate();
    let days = this.#matchingDays(year, month);
    if (days & (1 << (day - 1))) {
      const time = this.#timeUntil(date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds());
      if (time !== undefined) return Date.UTC(year, month, day) + time;
    }
    days &= (1 << (day - 1)) - 1;
    for (let back = 0; back <= SEARCH_MONTHS; back += 1) {
      if (back > 0) days = this.#matchingDays(year, month - back);
      if (days === 0) continue;
      const last = 32 - Math.clz32(days);
      const time = timeOf(this.#hours.last, this.#minutes.last, this.#seconds.last);
      return Date.UTC(year, month - back, last) + time;
    }
    return undefined;
  }

  /** How many matching times are later than `after` and not later than `until`. */
  count(after: number, until: number): number {
    if (until <= after) return 0;
    const from = new Date(after);
    const year = from.getUTCFullYear();
    const to = new Date(until);
    const months = (to.getUTCFullYear() - year) * 12 + to.getUTCMonth() - from.getUTCMonth();
    let days = 0;
    for (let ahead = 0; ahead < months; ahead += 1) {
      days += bitsIn(this.#matchingDays(year, from.getUTCMonth() + ahead));
    }
    return days * this.#perDay + this.#countInMonth(to) - this.#countInMonth(from);
  }

  /** Matching times of the month up to this date. */
  #countInMonth(date: Date): number {
    const days = this.#matchingDays(date.getUTCFullYear(), date.getUTCMonth());
    const today = 1 << (date.getUTCDate() - 1);
    const before = bitsIn(days & (today - 1)) * this.#perDay;
    if (!(days & today)) return before;
    const [hour, minute] = [date.getUTCHours(), date.getUTCMinutes()];
    let count = this.#hours.countBelow(hour) * this.#minutes.count * this.#seconds.count;
    if (this.#hours.has(hour)) {
      count += this.#minutes.countBelow(minute) * this.#seconds.count;
      if (this.#minutes.has(minute)) count += this.#seconds.countBelow(date.getUTCSeconds() + 1);
    }
    return before + count;
  }

  /** `month` counts from 0 and may be out of range. */
  #matchingDays(year: number, month: number): number {
    if (!(this.#months & (1 << monthOfYear(month)))) return 0;
    return this.#days[weekdayOf(year, month, 1)]! & (0x7f_ff_ff_ff >>> (31 - daysInMonth(year, month)));
  }

  #timeFrom(hour: number, minute: number, second: number): number | undefined {
    if (this.#hours.has(hour)) {
      if (this.#minutes.has(minute)) {
        const nextSecond = this.#seconds.atLeast(second);
        if (nextSecond !== undefined) return timeOf(hour, minute, nextSecond);
      }
      const nextMinute = this.#minutes.atLeast(minute + 1);
      if (nextMinute !== undefined) return timeOf(hour, nextMinute, this.#seconds.first);
    }
    const nextHour = this.#hours.atLeast(hour + 1);
    return nextHour === undefined ? undefined : timeOf(nextHour, this.#minutes.first, this.#seconds.first);
  }

  #timeUntil(hour: number, minute: number, second: number): number | undefined {
    if (this.#hours.has(hour)) {
      if (this.#minutes.has(minute)) {
        const lastSecond = this.#seconds.below(second + 1);
        if (lastSecond !== undefined) return timeOf(hour, minute, lastSecond);
      }
      const lastMinute = this.#minutes.below(minute);
      if (lastMinute !== undefined) return timeOf(hour, lastMinute, this.#seconds.last);
    }
    const lastHour = this.#hours.below(hour);
    return lastHour === undefined ? undefined : timeOf(lastHour, this.#minutes.last, this.#seconds.last);
  }
}

const timeOf = (hour: number, minute: number, second: number): number => ((hour * 60 + minute) * 60 + second) * 1_000;

/** Adds neighbours, then pairs of them, and so on: the usual way to count bits without a loop. */
function bitsIn(bits: number): number {
  let sums = bits - ((bits >>> 1) & 0x55_55_55_55);
  sums = (sums & 0x33_33_33_33) + ((sums >>> 2) & 0x33_33_33_33);
  sums = (sums + (sums >>> 4)) & 0x0f_0f_0f_0f;
  return Math.imul(sums, 0x01_01_01_01) >>> 24;
}
