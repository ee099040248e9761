// What there is to say about one setting. options.ts and cluster-options.ts say it about each of them.

export type OptionKind = "text" | "duration" | "whole number" | "yes/no" | "list";

export interface Option {
  readonly kind: OptionKind;
  /** As a person would write it. */
  readonly default: string | number | boolean | readonly string[];
  /** Its place in `limpet.yaml` and in code, with a dot where it is nested. */
  readonly path: string;
  readonly env: string;
  readonly flag: string;
  /** What stands behind the flag in help: `--store <location>`. */
  readonly placeholder?: string;
  readonly help: string;
  /** One line: what breaks when it is too low, too high or wrong. */
  readonly breaks: string;
  /** A secret is never printed, in errors neither. */
  readonly secret?: true;
  /** The texts that are allowed; of a list, words that may stand in its place. */
  readonly choices?: readonly string[];
  /** Inclusive; milliseconds for durations. */
  readonly min?: number;
  readonly max?: number;
  /** What is wrong with a text, as the end of a sentence. */
  readonly problem?: (text: string) => string | undefined;
  /** What is wrong with a list of nothing, as the end of a sentence. Left out, nothing is. */
  readonly whenEmpty?: string;
}
