// Parses the arguments of `npm run bench --`. Unknown options are rejected with a message that names valid
// ones.
import { parseArgs } from "node:util";

export interface Arguments {
  readonly help: boolean;
  readonly only: readonly string[];
  /** Only cases whose name contains this, in upper or lower case. */
  readonly caseContains: string | undefined;
  readonly quick: boolean;
  readonly json: boolean;
  readonly rounds: number;
}

/** Invalid arguments. The message is for the user. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

const ROUNDS = { quick: 3, full: 5, max: 100 } as const;

export const HELP = `Usage: npm run bench -- [options]

Measures Limpet beside a floor (the least anybody could do) and beside peers, in interleaved rounds.
Without options, every area that has cases runs in full.

  --only <area>      run this area only (several: --only actors,cluster)
  --case <text>      run only cases whose name contains this text
  --quick            short rounds: less than a minute for an area
  --rounds <n>       rounds per case (default ${ROUNDS.full}; ${ROUNDS.quick} with --quick)
  --json             one JSON object per case on standard output
  --help             this text

Progress goes to standard error. Exit code 0: all ran; 1: one of our own cases failed; 2: wrong options.
`;

export function parseArguments(words: readonly string[], areas: readonly string[]): Arguments {
  const values = parse(words);
  const quick = values.quick === true;
  return {
    help: values.help === true,
    only: parseOnly(values.only ?? [], areas),
    caseContains: parseCase(values.case),
    quick,
    json: values.json === true,
    rounds: values.rounds === undefined ? (quick ? ROUNDS.quick : ROUNDS.full) : parseRounds(values.rounds),
  };
}

function parse(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      allowPositionals: false,
      options: {
        help: { type: "boolean", short: "h" },
        only: { type: "string", multiple: true },
        case: { type: "string" },
        quick: { type: "boolean" },
        rounds: { type: "string" },
        json: { type: "boolean" },
      },
    }).values;
  } catch (error) {
    // The parser's first sentence names the argument; the rest explains its own syntax.
    const message =
      error instanceof Error ? error.message.split(/\. (?:To specify|This command)|\n/)[0]! : String(error);
    throw new UsageError(`${message}. Known options: --only, --case, --quick, --rounds, --json, --help.`);
  }
}

function parseOnly(values: readonly string[], areas: readonly string[]): string[] {
  const names = values.flatMap((value) => value.split(",")).map((name) => name.trim());
  for (const name of names) {
    if (!areas.includes(name)) {
      throw new UsageError(`There is no area ${JSON.stringify(name)}. Areas: ${areas.join(", ")}.`);
    }
  }
  return [...new Set(names)];
}

function parseCase(value: string | undefined): string | undefined {
  if (value === "") throw new UsageError("--case needs a part of a case's name.");
  return value;
}

function parseRounds(value: string): number {
  const rounds = Number(value);
  if (!/^\d+$/.test(value) || rounds < 1 || rounds > ROUNDS.max) {
    throw new UsageError(`--rounds must be a whole number from 1 to ${ROUNDS.max}, not ${JSON.stringify(value)}.`);
  }
  return rounds;
}
