// A time zone: the offset of its clocks from UTC at a moment, and the changes of that offset. Intl answers
// only the first query, and slowly (about 2 µs), so its answers are cached by spans of 25 days. Within a span
// offsets are sampled every six days; since 1970 no zone has changed its offset twice within so short a time.

import { showValue } from "../../kernel/check.ts";
import { DAY } from "./calendar.ts";
import { checkText, reject } from "./rejection.ts";

/**
 * The clocks are moved at `at`: until then they are `before` ahead of UTC, from then on `after`
 * (milliseconds).
 */
export interface Change {
  readonly at: number;
  readonly before: number;
  readonly after: number;
}

interface Span {
  /** The offset just before it begins. */
  readonly offset: number;
  readonly changes: readonly Change[];
}

const SPAN = 2 ** 31;
const SAMPLE = 2 ** 29;
/** About seventy years of one zone. */
const MAX_SPANS = 1_024;
const MAX_ZONES = 256;
const NO_CHANGES: readonly Change[] = [];

export class Zone {
  readonly #format: Intl.DateTimeFormat | undefined;
  readonly #spans = new Map<number, Span>();

  /** Without a format it is UTC. */
  constructor(format?: Intl.DateTimeFormat) {
    this.#format = format;
  }

  /** The offset of the clocks from UTC at that moment, in milliseconds. */
  offsetAt(moment: number): number {
    if (this.#format === undefined) return 0;
    const span = this.#spanOf(Math.floor(moment / SPAN));
    let offset = span.offset;
    for (const change of span.changes) {
      if (change.at <= moment) offset = change.after;
    }
    return offset;
  }

  /** The time on the wall clock. */
  wallAt(moment: number): number {
    return moment + this.offsetAt(moment);
  }

  /** Changes later than `after` and not later than `until`, in order. */
  changes(after: number, until: number): readonly Change[] {
    if (this.#format === undefined) return NO_CHANGES;
    let found: Change[] | undefined;
    const last = Math.floor(until / SPAN);
    for (let index = Math.floor(after / SPAN); index <= last; index += 1) {
      for (const change of this.#spanOf(index).changes) {
        if (change.at <= after || change.at > until) continue;
        if (found === undefined) found = [change];
        else found.push(change);
      }
    }
    return found ?? NO_CHANGES;
  }

  /**
   * The first moment at which the clock shows this time or a later one. A skipped time is reached at the end
   * of the gap; a time that is shown twice is reached the first time. It never falls when `wall` rises.
   */
  firstMomentOf(wall: number): number {
    // No zone is a day away from UTC, so the moment is within a day of the wall time.
    const change = this.changes(wall - DAY, wall + DAY)[0];
    if (change === undefined) return wall - this.offsetAt(wall);
    const before = wall - change.before;
    return before < change.at ? before : Math.max(change.at, wall - change.after);
  }

  /**
   * The latest time the clock has shown until this moment. After it was set back, that is more than it shows
   * now.
   */
  highestWallAt(moment: number): number {
    let highest = this.wallAt(moment);
    for (const change of this.changes(moment - DAY, moment)) {
      highest = Math.max(highest, change.at - 1 + change.before);
    }
    return highest;
  }

  #spanOf(index: number): Span {
    const known = this.#spans.get(index);
    if (known !== undefined) return known;
    if (this.#spans.size >= MAX_SPANS) this.#spans.clear();
    const span = this.#survey(index * SPAN);
    this.#spans.set(index, span);
    return span;
  }

  #survey(start: number): Span {
    const end = start + SPAN - 1;
    // From the moment before it, so that a change on the border is found, and belongs to the span that it
    // opens.
    let from = start - 1;
    const offset = this.#ask(from);
    const changes: Change[] = [];
    let before = offset;
    while (from < end) {
      const to = from + SAMPLE;
      const after = this.#ask(to);
      if (after !== before) changes.push({ at: this.#search(from, to, before), before, after });
      from = to;
      before = after;
    }
    return { offset, changes };
  }

  /** The first moment after `from` with another offset; `to` has another one. */
  #search(from: number, to: number, offset: number): number {
    let low = from;
    let high = to;
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.#ask(middle) === offset) low = middle;
      else high = middle;
    }
    return high;
  }

  /** Intl writes "11/14/2023, GMT+05:45", and "GMT-00:44:30" where seconds matter. */
  #ask(moment: number): number {
    const text = this.#format!.format(moment);
    const sign = text.lastIndexOf("GMT") + 3;
    if (sign >= text.length) return 0;
    const [hours = "0", minutes = "0", seconds = "0"] = text.slice(sign + 1).split(":");
    const size = (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * 1_000;
    return text[sign] === "-" ? 0 - size : size;
  }
}

// UTC is present from the start: the first call of Intl takes tens of milliseconds, and most schedules need
// no zone.
const zones = new Map<string, Zone>([["UTC", new Zone()]]);

/** Throws REMINDER_INVALID for an unknown name. */
export function zoneOf(name: string): Zone {
  const known = zones.get(name);
  if (known !== undefined) return known;
  const instead = 'write for example "Europe/Paris", "America/New_York" or "UTC"';
  checkText(name, "timezone", instead);
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-US", { timeZone: name, timeZoneName: "longOffset" });
  } catch {
    reject("timezone", `${showValue(name)} is not a time zone; ${instead}`);
  }
  if (zones.size >= MAX_ZONES) zones.clear();
  const zone = new Zone(format);
  zones.set(name, zone);
  return zone;
}
