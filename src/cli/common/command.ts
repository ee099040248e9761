// The definition of a command: its description, its arguments and its action. Help and argument parsing both
// use the definition, so they cannot disagree.

import type { Env, Terminal } from "./terminal.ts";

export interface Flag {
  readonly name: string;
  readonly short?: string;
  /** `switch` takes no value; `yes/no` is a switch that also has a `--no-` form; `list` may be repeated. */
  readonly kind: "switch" | "yes/no" | "text" | "list";
  readonly placeholder?: string;
  readonly help: string;
}

export interface Argument {
  readonly name: string;
  readonly help: string;
  readonly optional?: true;
  /** Takes all remaining arguments. */
  readonly rest?: true;
}

export interface CliCommand {
  readonly name: string;
  readonly summary: string;
  /** A few lines under the usage that extend the summary. */
  readonly about?: string;
  readonly arguments: readonly Argument[];
  readonly flags: readonly Flag[];
  /** Settings that may be given as flags; the help lists them separately. */
  readonly settings?: readonly Flag[];
  readonly examples: readonly string[];
  run(context: Context): Promise<number>;
}

export type FlagValues = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

export interface Context {
  readonly args: readonly string[];
  readonly flags: FlagValues;
  /** The words behind the command, as typed. */
  readonly argv: readonly string[];
  /** Output is for programs. */
  readonly json: boolean;
  readonly terminal: Terminal;
  readonly env: Env;
  readonly cwd: string;
}

/** Flags of every command. */
export const COMMON_FLAGS: readonly Flag[] = [
  { name: "json", kind: "switch", help: "Write JSON, for programs." },
  { name: "help", short: "h", kind: "switch", help: "Show this help." },
];

export function flagsOf(command: CliCommand): readonly Flag[] {
  return [...command.flags, ...(command.settings ?? []), ...COMMON_FLAGS];
}

export function usageOf(command: CliCommand): string {
  const parts = command.arguments.map(({ name, optional, rest }) => {
    const dots = rest ? "…" : "";
    return optional ? `[${name}${dots}]` : `<${name}${dots}>`;
  });
  return ["limpet", command.name, ...parts, "[options]"].join(" ");
}

export function textFlag(flags: FlagValues, name: string): string | undefined {
  const value = flags[name];
  return typeof value === "string" ? value : undefined;
}
