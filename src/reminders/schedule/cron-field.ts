// Parses one field of a cron expression into the set of allowed values.
import { showValue } from "../../kernel/check.ts";
import { reject } from "./rejection.ts";

export interface FieldKind {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Names of the values, the first one for `min`. */
  readonly names?: readonly string[];
}

export interface Field {
  /** Allowed values, rising, none twice. */
  readonly values: readonly number[];
  /**
   * The text begins with `*`. Cron decides by this letter, not by the values, whether a field restricts
   * anything.
   */
  readonly star: boolean;
}

const MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

export const FIELDS: readonly FieldKind[] = [
  { name: "second", min: 0, max: 59 },
  { name: "minute", min: 0, max: 59 },
  { name: "hour", min: 0, max: 23 },
  { name: "day of month", min: 1, max: 31 },
  { name: "month", min: 1, max: 12, names: MONTHS },
  // 7 is Sunday too, for ranges like "5-7".
  { name: "day of week", min: 0, max: 7, names: WEEKDAYS },
];

export function parseField(text: string, kind: FieldKind): Field {
  const allowed = new Set<number>();
  for (const item of text.split(",")) {
    const [from, to, step] = parseItem(item, kind);
    for (let value = from; value <= to; value += step) allowed.add(kind.max === 7 ? value % 7 : value);
  }
  return { values: [...allowed].sort((a, b) => a - b), star: text.startsWith("*") };
}

/** `*`, `5`, `5-10`, each with `/step` or without; `5/10` goes from 5 to the end. */
function parseItem(item: string, kind: FieldKind): [from: number, to: number, step: number] {
  const [range = "", stepText, ...rest] = item.split("/");
  if (rest.length > 0) wrong(item, kind, `has more than one step; write for example ${kind.min}/2`);
  const step = stepText === undefined ? 1 : parseStep(stepText, item, kind);
  const end = kind.max === 7 ? 6 : kind.max;
  if (range === "*") return [kind.min, end, step];
  const [fromText = "", toText, ...more] = range.split("-");
  if (more.length > 0) wrong(item, kind, `is not a range; write for example ${kind.min}-${kind.min + 3}`);
  const from = parseValue(fromText, item, kind);
  if (toText === undefined) return [from, stepText === undefined ? from : end, step];
  // SAT-SUN means the Sunday after the Saturday.
  const to = toText.toUpperCase() === "SUN" && kind.max === 7 ? 7 : parseValue(toText, item, kind);
  if (from > to) wrong(item, kind, `runs backwards; write ${from}-${end},${kind.min}-${to}`);
  return [from, to, step];
}

function parseStep(text: string, item: string, kind: FieldKind): number {
  const step = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (step < 1 || step > kind.max) {
    wrong(item, kind, `has a step that is not between 1 and ${kind.max}; write for example */2`);
  }
  return step;
}

function parseValue(text: string, item: string, kind: FieldKind): number {
  const named = kind.names?.indexOf(text.toUpperCase()) ?? -1;
  const value = named >= 0 ? named + kind.min : /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= kind.min && value <= kind.max)) wrong(item, kind, `is not understood; write ${allowedOf(kind)}`);
  return value;
}

function allowedOf(kind: FieldKind): string {
  const names = kind.names === undefined ? "" : ` (or ${kind.names[0]} to ${kind.names.at(-1)})`;
  return `* or numbers from ${kind.min} to ${kind.max}${names}`;
}

function wrong(item: string, kind: FieldKind, why: string): never {
  reject("cron", `${showValue(item)} in the field for the ${kind.name} ${why}`);
}
