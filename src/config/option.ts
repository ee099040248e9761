// The declaration of one setting. options.ts and cluster-options.ts hold all of them.

export type OptionKind = "text" | "duration" | "whole number" | "yes/no" | "list";

export interface Option {
  readonly kind: OptionKind;
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
}
