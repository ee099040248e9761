// Parses the arguments of `npm run sim --`. Unknown options and conflicting combinations are rejected with a
// message that names valid ones.
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { BUGS, bugNamed } from "../bugs/catalogue.ts";

/** Invalid arguments. The message is for the user. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The task of the command. */
export type Task = "help" | "seeds" | "soak" | "replay" | "shrink" | "story" | "bugs";

export interface Arguments {
  readonly task: Task;
  /** The one seed that was named. */
  readonly seed: number | undefined;
  /** The first of many seeds; undefined for a random one. */
  readonly from: number | undefined;
  readonly seeds: number;
  readonly minutes: number;
  readonly jobs: number;
  readonly hosts: number | undefined;
  readonly bug: string | undefined;
  readonly story: string | undefined;
  readonly limit: number;
  readonly once: boolean;
  readonly json: boolean;
  readonly verbose: boolean;
  readonly write: boolean;
  readonly update: boolean;
}

const SEEDS = 300;
const LIMIT = 300;
/** Seeds are whole numbers that are short enough for a file name. */
const LARGEST_SEED = 2 ** 48;

export const HELP = `Usage: npm run sim -- [options]

Runs a whole cluster in one process, on virtual time, with crashes, pauses, lost messages and a failing database, and
checks that it keeps its promises. The seed determines everything: the same seed gives the same run. Every seed runs twice,
and both runs must agree.

  --seeds <n>      how many seeds (default ${SEEDS})
  --from <seed>    the first of them (default: a random one)
  --minutes <m>    as many seeds as fit; failures are saved in sim/failures/
  --jobs <n>       worker processes (default: one per core)
  --hosts <n>      number of hosts, instead of the one that the seed draws
  --once           run every seed once only
  --json           one JSON object at the end

  --seed <seed>    one seed, with its story
  --verbose        the story with all log lines of the hosts
  --shrink         with --seed or --story: reduce the plan while it still fails
  --story <file>   play a saved plan: a file of sim/stories/ or sim/failures/
  --update         with --story: record the present trace as the expected one

  --bug <name>     with a known bug put back into the program
  --bugs           with every known bug, one by one: how many seeds until each is found, as a table
  --limit <n>      with --bugs: how many seeds are tried (default ${LIMIT})
  --write          with --bugs: write the table into docs/simulation.md
  --help           this text

\`npm run sim -- 7\` is short for --seed 7, and \`npm run sim -- 1 100\` for --from 1 --seeds 100.
Progress goes to standard error. Ctrl-C ends after the running seeds with a summary; a second one ends at once.
Exit code 0: every rule held; 1: a rule failed; 2: wrong options; 3: no rule failed, but some seeds did not
end within 120 s of real time; 130: interrupted.
`;

const OPTIONS = {
  help: { type: "boolean", short: "h" },
  seeds: { type: "string" },
  from: { type: "string" },
  minutes: { type: "string" },
  jobs: { type: "string" },
  hosts: { type: "string" },
  once: { type: "boolean" },
  json: { type: "boolean" },
  seed: { type: "string" },
  verbose: { type: "boolean" },
  shrink: { type: "boolean" },
  story: { type: "string" },
  update: { type: "boolean" },
  bug: { type: "string" },
  bugs: { type: "boolean" },
  limit: { type: "string" },
  write: { type: "boolean" },
} as const;

type Option = keyof typeof OPTIONS;

/** Valid options of each task; others would be ignored, so they are rejected. */
const GOES_WITH: Record<Exclude<Task, "help">, readonly Option[]> = {
  seeds: ["seeds", "from", "jobs", "hosts", "once", "json", "bug"],
  soak: ["minutes", "from", "jobs", "hosts", "once", "json", "bug"],
  replay: ["seed", "hosts", "once", "json", "verbose", "bug"],
  shrink: ["shrink", "seed", "story", "hosts", "bug"],
  story: ["story", "update", "verbose"],
  bugs: ["bugs", "limit", "from", "jobs", "write", "bug"],
};

const NAMES: Record<Exclude<Task, "help">, string> = {
  seeds: "many seeds",
  soak: "--minutes",
  replay: "--seed",
  shrink: "--shrink",
  story: "--story",
  bugs: "--bugs",
};

export function parseArguments(words: readonly string[]): Arguments {
  const values = parse(words);
  const task = taskOf(values);
  if (task !== "help") {
    for (const name of Object.keys(values) as Option[]) {
      if (!GOES_WITH[task].includes(name)) throw new UsageError(`--${name} does not go with ${NAMES[task]}.`);
    }
  }
  if (task === "shrink" && (values.seed === undefined) === (values.story === undefined)) {
    throw new UsageError("--shrink needs either --seed or --story.");
  }
  if (values.json && values.verbose) throw new UsageError("--verbose does not go with --json, which prints no story.");
  if (values.write && values.bug !== undefined) {
    throw new UsageError("--write does not go with --bug: the table in the document is that of all bugs.");
  }
  if (values.bug !== undefined && bugNamed(values.bug) === undefined) {
    throw new UsageError(
      `There is no bug ${JSON.stringify(values.bug)}. Bugs:\n${listed(BUGS.map(({ name }) => name))}`,
    );
  }
  const number = (name: "seeds" | "from" | "jobs" | "hosts" | "seed" | "limit", least: number, most: number) =>
    values[name] === undefined ? undefined : wholeNumber(name, values[name], least, most);
  const seeds = number("seeds", 1, 1e9) ?? SEEDS;
  return {
    task,
    seed: number("seed", 0, LARGEST_SEED),
    // The last seed must be a valid one too, or it could not be replayed.
    from: number("from", 0, LARGEST_SEED - seeds),
    seeds,
    minutes: values.minutes === undefined ? 0 : minutesOf(values.minutes),
    jobs: number("jobs", 1, 256) ?? availableParallelism(),
    hosts: number("hosts", 1, 50),
    bug: values.bug,
    story: values.story,
    limit: number("limit", 1, 1e9) ?? LIMIT,
    once: values.once === true,
    json: values.json === true,
    verbose: values.verbose === true,
    write: values.write === true,
    update: values.update === true,
  };
}

type Values = ReturnType<typeof parse>;

function parse(words: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({ args: [...words], allowPositionals: true, options: OPTIONS });
    const [first, count, ...rest] = positionals;
    if (rest.length > 0) throw new UsageError(`Too many words: ${JSON.stringify(rest[0])}. See --help.`);
    if (first === undefined) return values;
    const named = (["seed", "from", "seeds", "story"] as const).find((name) => values[name] !== undefined);
    if (named !== undefined) {
      throw new UsageError(`${JSON.stringify(first)} is short for an option; it does not go with --${named}.`);
    }
    for (const word of [first, count]) {
      if (word !== undefined && !/^\d+$/.test(word))
        throw new UsageError(`${JSON.stringify(word)} is no seed. See --help.`);
    }
    return { ...values, ...(count === undefined ? { seed: first } : { from: first, seeds: count }) };
  } catch (error) {
    if (error instanceof UsageError || !(error instanceof TypeError)) throw error;
    // The parser's first sentence names the argument; the rest explains its own syntax.
    throw new UsageError(`${error.message.split(/\. (?:To specify|This command)|\.?\n/)[0]}. See --help.`);
  }
}

function taskOf(values: Values): Task {
  if (values.help) return "help";
  if (values.shrink) return "shrink";
  if (values.bugs) return "bugs";
  if (values.story !== undefined) return "story";
  if (values.seed !== undefined) return "replay";
  return values.minutes !== undefined ? "soak" : "seeds";
}

function wholeNumber(name: string, value: string, least: number, most: number): number {
  const number = Number(value);
  if (!/^\d+$/.test(value) || number < least || number > most) {
    throw new UsageError(`--${name} must be a whole number from ${least} to ${most}, not ${JSON.stringify(value)}.`);
  }
  return number;
}

function minutesOf(value: string): number {
  const minutes = Number(value);
  if (!/^\d+(?:\.\d+)?$/.test(value) || minutes <= 0) {
    throw new UsageError(`--minutes must be a number above 0, not ${JSON.stringify(value)}.`);
  }
  return minutes;
}

const listed = (names: readonly string[]): string => names.map((name) => `  ${name}`).join("\n");
