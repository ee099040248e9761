// ISO 8601 durations: "P1M", "P1DT12H", "PT0.5S", and "R5/PT10S" for five times. Upper case, whole numbers,
// and seconds down to the millisecond.

import type { Period } from "./period.ts";
import { MAX_TEXT } from "./rejection.ts";

const FORM =
  /^(?:R(\d{1,15})\/)?P(?=.)(?:(\d{1,9})Y)?(?:(\d{1,9})M)?(?:(\d{1,9})W)?(?:(\d{1,9})D)?(?:T(?=.)(?:(\d{1,9})H)?(?:(\d{1,12})M)?(?:(\d{1,12})(?:\.(\d{1,3})0*)?S)?)?$/;

export interface IsoDuration {
  readonly period: Period;
  /** The number of ticks in all, if the text has one. */
  readonly times?: number;
}

/** Undefined: not an ISO duration. */
export function parseIsoDuration(text: string): IsoDuration | undefined {
  const match = text.length > MAX_TEXT ? null : FORM.exec(text);
  if (match === null) return undefined;
  const [times, years, months, weeks, days, hours, minutes, seconds, fraction] = match.slice(1);
  const count = (digits: string | undefined): number => Number(digits ?? 0);
  const period: Period = {
    months: count(years) * 12 + count(months),
    days: count(weeks) * 7 + count(days),
    ms: ((count(hours) * 60 + count(minutes)) * 60 + count(seconds)) * 1_000 + count(fraction?.padEnd(3, "0")),
  };
  return times === undefined ? { period } : { period, times: Number(times) };
}

export function formatIsoDuration({ months, days, ms }: Period): string {
  const part = (count: number, unit: string): string => (count === 0 ? "" : `${count}${unit}`);
  const date = part(Math.floor(months / 12), "Y") + part(months % 12, "M") + part(days, "D");
  const time = ms === 0 && date !== "" ? "" : `T${ms / 1_000}S`;
  return `P${date}${time}`;
}
