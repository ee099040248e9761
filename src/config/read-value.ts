// Parses a configured value. An error names the source, the setting, the value (unless it is a secret) and
// the allowed values. Pure.

import { formatDuration, parseDuration } from "../kernel/durations.ts";
import { LimpetError } from "../kernel/errors.ts";
import { didYouMean } from "../kernel/nearest.ts";
import type { Option } from "./option.ts";
import { OPTIONS, type SettingKey, type Settings } from "./options.ts";
import { describeOrigin, type Entry, type Origin, type Source } from "./origin.ts";
import { shownStore } from "./places.ts";

const YES = new Set(["true", "yes", "on", "1"]);
const NO = new Set(["false", "no", "off", "0"]);

/** Sources that are written in TypeScript. */
const IN_CODE: ReadonlySet<Source> = new Set(["default", "command", "code"]);

export function readValue(entry: Entry): Settings[SettingKey] {
  const option = OPTIONS[entry.key];
  switch (option.kind) {
    case "text":
      return readText(option, entry);
    case "whole number":
      return readNumber(option, entry);
    case "duration":
      return readDuration(option, entry);
    case "yes/no":
      return readYesNo(entry);
    case "list":
      return readList(option, entry);
  }
}

function readText(option: Option, { key, value, origin }: Entry): string {
  if (typeof value !== "string") throw refuseValue(key, origin, value, "is not text");
  if (option.choices !== undefined && !option.choices.includes(value)) {
    const choices = option.choices.join(", ");
    throw refuseValue(key, origin, value, `is not one of ${choices}${didYouMean(value, option.choices)}`);
  }
  const problem = option.problem?.(value);
  if (problem !== undefined) throw refuseValue(key, origin, value, problem);
  return value;
}

function readNumber(option: Option, { key, value, origin }: Entry): number {
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = option;
  const number = typeof value === "string" && /^\d{1,16}$/.test(value.trim()) ? Number(value) : value;
  if (typeof number !== "number" || !Number.isInteger(number)) {
    throw refuseValue(key, origin, value, `is not a whole number; allowed is ${min} to ${max}`);
  }
  if (number < min || number > max)
    throw refuseValue(key, origin, value, `is out of range; allowed is ${min} to ${max}`);
  return number;
}

function readDuration(option: Option, { key, value, origin }: Entry): number {
  const { min = 0, max } = option;
  // In code a number is milliseconds. Other sources need a unit, because seconds and milliseconds would be
  // ambiguous.
  if (typeof value === "number" && !IN_CODE.has(origin.source)) {
    throw refuseValue(
      key,
      origin,
      value,
      `has no unit; write "${value}s" for seconds or "${value}ms" for milliseconds`,
    );
  }
  if (typeof value === "string" && /^\s*\d+\s*$/.test(value)) {
    throw refuseValue(
      key,
      origin,
      value,
      `has no unit; write ${value.trim()}s for seconds or ${value.trim()}ms for milliseconds`,
    );
  }
  if (typeof value !== "number" && typeof value !== "string") {
    throw refuseValue(key, origin, value, 'is not a duration; write for example "30s", "1h30m" or "250ms"');
  }
  const ms = parseDuration(value, describeOrigin(origin));
  if (ms < min) throw refuseValue(key, origin, value, `is too short; allowed is ${formatDuration(min)} and more`);
  if (max !== undefined && ms > max) {
    throw refuseValue(key, origin, value, `is too long; allowed is ${formatDuration(max)} and less`);
  }
  return ms;
}

export function readYesNo({ key, value, origin }: Entry): boolean {
  if (typeof value === "boolean") return value;
  const word = typeof value === "string" ? value.trim().toLowerCase() : "";
  if (YES.has(word)) return true;
  if (NO.has(word)) return false;
  throw refuseValue(key, origin, value, "is neither yes nor no; write true or false");
}

function readList(option: Option, { key, value, origin }: Entry): string | readonly string[] {
  const split = (text: unknown): unknown[] =>
    typeof text === "string" ? text.split(",").map((part) => part.trim()) : [text];
  // A flag may be repeated and may hold several items at once; no item of any list contains a comma.
  const repeated = origin.source === "flag" && Array.isArray(value);
  const parts = repeated ? value.flatMap(split) : typeof value === "string" ? split(value) : value;
  const words = option.choices?.join(", ");
  if (!Array.isArray(parts)) {
    throw refuseValue(key, origin, value, `is ${words === undefined ? "not" : `neither ${words} nor`} a list of texts`);
  }
  if (parts.length === 0 && option.whenEmpty !== undefined) throw refuseValue(key, origin, value, option.whenEmpty);
  // In a real list, every item is a name.
  if (parts.length === 1 && (repeated || typeof value === "string")) {
    const word = readWord(option.choices ?? [], { key, value: parts[0], origin });
    if (word !== undefined) return word;
  }
  for (const part of parts) {
    if (typeof part !== "string")
      throw refuseValue(key, origin, part, "is not text, as every item of the list must be");
    const problem = part === "" ? "has an empty item" : option.problem?.(part);
    if (problem !== undefined) throw refuseValue(key, origin, part, problem);
  }
  return [...new Set(parts as string[])];
}

/** A word that replaces a list. Undefined: it is a list of one name. */
function readWord(words: readonly string[], { key, value, origin }: Entry): string | undefined {
  if (typeof value !== "string" || words.length === 0) return undefined;
  const plain = (text: string): string => text.toLowerCase().replace(/[-_\s]/g, "");
  const word = words.find((each) => plain(each) === plain(value));
  if (word === value) return word;
  // As a name, either would silently have the wrong meaning.
  const known = words.join(", ");
  if (word !== undefined) throw refuseValue(key, origin, value, `is not one of ${known}; did you mean "${word}"?`);
  if (YES.has(plain(value)) || NO.has(plain(value))) {
    throw refuseValue(key, origin, value, `is neither one of ${known} nor a name`);
  }
  return undefined;
}

/** `what` follows the value: "is not text". */
export function refuseValue(key: SettingKey, origin: Origin, value: unknown, what: string): LimpetError {
  return new LimpetError("OPTION_INVALID", `${describeOrigin(origin)}: ${shownValue(key, value)} ${what}`);
}

const SHOWN_LENGTH = 100;

/** The form of a value for display: secrets hidden, long values cut. */
export function shownValue(key: SettingKey, value: unknown): string {
  if (OPTIONS[key].secret) return "(hidden)";
  const open = key === "store" && typeof value === "string" ? shownStore(value) : value;
  const text = JSON.stringify(open, (_, inner) => (typeof inner === "bigint" ? `${inner}` : inner)) ?? String(open);
  return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text;
}
