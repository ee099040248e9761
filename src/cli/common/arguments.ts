// Parses the words of a command line into arguments and flags of one command. An unknown flag is rejected
// with the nearest known one. Pure.

import { parseArgs } from "node:util";
import { didYouMean } from "../../kernel/nearest.ts";
import { type CliCommand, type Flag, type FlagValues, flagsOf, usageOf } from "./command.ts";
import { type Failure, wrongUsage } from "./failure.ts";

export interface ParsedArguments {
  readonly args: readonly string[];
  readonly flags: FlagValues;
}

export function parseArguments(command: CliCommand, argv: readonly string[]): ParsedArguments {
  const known = new Map(flagsOf(command).flatMap((flag) => namesOf(flag).map((name) => [name, flag] as const)));
  const { tokens } = parseArgs({ args: [...argv], options: optionsOf(known), strict: false, tokens: true });
  const args: string[] = [];
  const flags: Record<string, string | boolean | string[]> = {};
  let negative = -1;
  for (const token of tokens) {
    if (token.kind === "positional") args.push(token.value);
    if (token.kind !== "option") continue;
    const typed = argv[token.index]!;
    // `-5` is a negative number for the command. parseArgs sees a group of letters, one token for each.
    if (/^-\.?\d/.test(typed)) {
      if (negative !== token.index) args.push(typed);
      negative = token.index;
      continue;
    }
    const flag = known.get(token.name);
    if (flag === undefined) throw unknownFlag(command, typed, known.keys());
    take(command, flag, token, flags);
  }
  if (flags.help !== true) checkCount(command, args);
  return { args, flags };
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

function take(
  command: CliCommand,
  flag: Flag,
  token: OptionToken,
  into: Record<string, string | boolean | string[]>,
): void {
  if (flag.kind === "switch" || flag.kind === "yes/no") {
    if (token.value !== undefined) throw wrongUsage(`${token.rawName} takes no value`, helpHint(command));
    into[flag.name] = token.name === flag.name;
    return;
  }
  // `--store --watch` lacks the value; a value that begins with dashes can be written `--store=--watch`.
  if (token.value === undefined || (token.inlineValue === false && /^--?[a-z]/i.test(token.value))) {
    const example = `${token.rawName} <${flag.placeholder ?? "value"}>`;
    throw wrongUsage(`${token.rawName} needs a value: ${example}`, helpHint(command));
  }
  if (flag.kind === "text") into[flag.name] = token.value;
  else into[flag.name] = [...((into[flag.name] as string[] | undefined) ?? []), token.value];
}

function checkCount(command: CliCommand, args: readonly string[]): void {
  const missing = command.arguments.filter((argument, index) => !argument.optional && index >= args.length);
  if (missing.length > 0) {
    const names = missing.map(({ name }) => `<${name}>`).join(" and ");
    throw wrongUsage(`limpet ${command.name} needs ${names}`, usageHint(command));
  }
  if (!command.arguments.at(-1)?.rest && args.length > command.arguments.length) {
    const extra = JSON.stringify(args[command.arguments.length]);
    throw wrongUsage(`limpet ${command.name} takes no further argument: ${extra}`, usageHint(command));
  }
}

function usageHint(command: CliCommand): string {
  const example = command.examples[0];
  return example === undefined ? `Usage: ${usageOf(command)}` : `Usage: ${usageOf(command)}\nFor example: ${example}`;
}

const helpHint = (command: CliCommand): string => `All options: limpet ${command.name} --help`;

function unknownFlag(command: CliCommand, typed: string, known: Iterable<string>): Failure {
  const name = typed.replace(/=.*$/s, "");
  // A single letter has no close match worth suggesting.
  const guess = name.length > 2 ? didYouMean(name.replace(/^-+/, ""), known, (hit) => `--${hit}`) : "";
  return wrongUsage(`limpet ${command.name} has no option ${name}${guess}`, helpHint(command));
}

const namesOf = (flag: Flag): string[] => (flag.kind === "yes/no" ? [flag.name, `no-${flag.name}`] : [flag.name]);

function optionsOf(known: ReadonlyMap<string, Flag>) {
  const options: Record<string, { type: "string" | "boolean"; multiple: boolean; short?: string }> = {};
  for (const [name, flag] of known) {
    const takesValue = flag.kind === "text" || flag.kind === "list";
    options[name] = { type: takesValue ? "string" : "boolean", multiple: flag.kind === "list" };
    if (flag.short !== undefined) options[name].short = flag.short;
  }
  return options;
}
