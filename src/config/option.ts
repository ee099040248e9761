// The declaration of one setting, and one function per kind that makes it. The names of its environment
// variable and of its flag follow from its path, unless the declaration names them.

import { parseDuration } from "../kernel/durations.ts";
import type { SettingPath } from "./limpet-settings.ts";

export interface Option<Value = unknown> {
  readonly kind: "text" | "duration" | "whole number" | "yes/no" | "list";
  /** As a person would write it. */
  readonly default: string | number | boolean | readonly string[];
  /** Its path in `limpet.yaml` and in code, with a dot where it is nested. */
  readonly path: string;
  readonly env: string;
  readonly flag: string;
  /** The value of the flag in help: `--store <location>`. */
  readonly placeholder?: string;
  readonly help: string;
  /** One line: the effect of a value that is too low, too high or wrong. */
  readonly breaks: string;
  /** A secret is never printed, not even in errors. */
  readonly secret?: true;
  /** The allowed texts; for a list, words that may replace it. */
  readonly choices?: readonly string[];
  /** Inclusive; milliseconds for durations. */
  readonly min?: number;
  readonly max?: number;
  /** Returns the problem with a text, as the end of a sentence. */
  readonly problem?: (text: string) => string | undefined;
  /** The problem with an empty list, as the end of a sentence. Absent: an empty list is allowed. */
  readonly whenEmpty?: string;
  /** Always absent: it holds the type of the setting for `SettingsOf`. */
  readonly value?: Value;
}

/** The values as the program uses them: every value present, durations in milliseconds. */
export type SettingsOf<Table> = { readonly [K in keyof Table]: Table[K] extends Option<infer Value> ? Value : never };

type Details = Omit<Option, "kind" | "default" | "path" | "env" | "flag" | "value"> &
  Partial<Pick<Option, "env" | "flag">>;
/** Inclusive, and without an upper limit if the second value is absent. */
type Range<Value> = readonly [min: Value, max?: Value];

function declare(kind: Option["kind"], path: SettingPath, fallback: Option["default"], details: Details) {
  const words = path.replace(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`).replaceAll(".", "-");
  const env = `LIMPET_${words.toUpperCase().replaceAll("-", "_")}`;
  return { kind, default: fallback, path, env, flag: words, ...details };
}

export const yesNo = (path: SettingPath, fallback: boolean, details: Details): Option<boolean> =>
  declare("yes/no", path, fallback, details);

export function duration(path: SettingPath, fallback: string, range: Range<string>, details: Details): Option<number> {
  const [min, max] = range.map((limit) => parseDuration(limit!, path));
  return declare("duration", path, fallback, { placeholder: "duration", min, max, ...details });
}

export function wholeNumber(
  path: SettingPath,
  fallback: number,
  [min, max]: Range<number>,
  details: Details,
): Option<number> {
  return declare("whole number", path, fallback, { placeholder: "number", min, max, ...details });
}

export const freeText = (path: SettingPath, fallback: string, details: Details): Option<string> =>
  declare("text", path, fallback, details);

export const choiceOf = <Choice extends string>(
  path: SettingPath,
  fallback: NoInfer<Choice>,
  choices: readonly Choice[],
  details: Details,
): Option<Choice> => declare("text", path, fallback, { choices, ...details });

/** Empty by default. */
export const textList = (path: SettingPath, details: Details): Option<readonly string[]> =>
  declare("list", path, [], details);

/** A list that one of several words may replace, by default the first of them. */
export const wordOrList = <Word extends string>(
  path: SettingPath,
  words: readonly [Word, ...Word[]],
  details: Details,
): Option<Word | readonly string[]> => declare("list", path, words[0], { choices: words, ...details });
