// Entry of `npm run bench`: selects areas and cases, runs them one after the other, and prints the results.
// Results go to standard output, everything else to standard error.
import { AREAS } from "./areas.ts";
import { type Arguments, HELP, parseArguments, UsageError } from "./arguments.ts";
import type { BenchCase, Measurement } from "./case.ts";
import { describeDisk, describeMachine } from "./conditions.ts";
import { measure } from "./report/rounds.ts";
import { jsonOf, numberOf, type Row, rowsOf } from "./report/row.ts";
import { show, tableOf } from "./report/table.ts";
import { Workplace } from "./workplace.ts";

const PACE = {
  full: { durationMs: 2_000, warmupMs: 1_000, quick: false },
  quick: { durationMs: 300, warmupMs: 200, quick: true },
} as const;

/**
 * When a quick run of an area has taken this long, on a slow or busy machine, the remaining cases get one
 * round each.
 */
const HURRY_MS = 40_000;

const print = (line: string) => process.stderr.write(`${line}\n`);

interface Chosen {
  readonly area: string;
  readonly cases: readonly BenchCase[];
}

process.exitCode = await main(process.argv.slice(2));

async function main(words: readonly string[]): Promise<number> {
  try {
    const options = parseArguments(words, Object.keys(AREAS));
    if (options.help) {
      process.stdout.write(HELP);
      return 0;
    }
    return await runAll(choose(options), options);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    print(error.message);
    return 2;
  }
}

function choose({ only, caseContains, quick }: Arguments): Chosen[] {
  const text = caseContains?.toLowerCase();
  const chosen = Object.entries(AREAS)
    .filter(([area]) => only.length === 0 || only.includes(area))
    .map(([area, cases]) => ({
      area,
      cases: cases
        .filter((it) => (text === undefined || it.name.toLowerCase().includes(text)) && !(quick && it.slow))
        .map((it) => (quick ? { ...it, peers: it.peers?.filter(({ slow }) => !slow) } : it)),
    }));
  if (text !== undefined && chosen.every(({ cases }) => cases.length === 0)) {
    throw new UsageError(`No case has ${JSON.stringify(caseContains)} in its name${quick ? " (with --quick)" : ""}.`);
  }
  return chosen;
}

async function runAll(chosen: readonly Chosen[], options: Arguments): Promise<number> {
  for (const { area } of chosen) {
    const all = AREAS[area]!.length;
    print(`${area.padEnd(10)} ${all === 0 ? "no cases yet" : `${all} cases`}`);
  }
  if (chosen.every(({ cases }) => cases.length === 0)) return 0;

  const workplace = await Workplace.open(options.quick ? PACE.quick : PACE.full, print);
  const interrupt = (signal: NodeJS.Signals) => {
    print(`${signal}: cleaning up …`);
    void workplace.close().finally(() => process.exit(130));
  };
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  print(describeMachine());
  print(describeDisk(workplace.folder));
  let failed = false;
  try {
    for (const { area, cases } of chosen) {
      if (cases.length > 0) failed = (await runArea(area, cases, options, workplace)) || failed;
    }
    const postgres = await workplace.postgresVersion();
    if (postgres !== undefined) print(`PostgreSQL ${postgres}, fsync on, synchronous_commit on`);
  } finally {
    await workplace.close();
  }
  return failed ? 1 : 0;
}

/** Returns true if one of our own cases failed. */
async function runArea(
  area: string,
  cases: readonly BenchCase[],
  options: Arguments,
  workplace: Workplace,
): Promise<boolean> {
  const rows: Row[] = [];
  let failed = false;
  const began = performance.now();
  for (const [index, benchCase] of cases.entries()) {
    print(`${area} ${index + 1}/${cases.length}  ${benchCase.name}`);
    const rounds = roundsOf(benchCase, options, performance.now() - began);
    const measured = await measure(benchCase, {
      rounds,
      restart: benchCase.fresh === true || !options.quick,
      start: (contender) => workplace.start(contender),
      progress: (round, name, value) => print(`    round ${round}/${rounds}  ${name} ${describe(benchCase, value)}`),
    });
    failed ||= measured.oursFailed;
    for (const note of measured.notes) print(`    ${note}`);
    const own = rowsOf(area, benchCase, measured);
    rows.push(...own);
    if (options.json) for (const row of own) process.stdout.write(`${jsonOf(row)}\n`);
  }
  if (!options.json) process.stdout.write(`\n${area}\n${tableOf(rows)}${footnotes(rows)}`);
  print(`${area} took ${Math.round((performance.now() - began) / 1000)} s`);
  return failed;
}

function roundsOf({ steady, once }: BenchCase, { quick, rounds }: Arguments, elapsedMs: number): number {
  if (once) return 1;
  if (quick && (steady || elapsedMs > HURRY_MS)) return 1;
  return steady ? Math.min(rounds, 3) : rounds;
}

function describe(benchCase: BenchCase, value: Measurement): string {
  if (benchCase.figures === undefined) return `${show(numberOf(value))} ${benchCase.unit}`;
  const parts = Object.entries(benchCase.figures).map(
    ([name, { unit }]) => `${name} ${show(numberOf(value, name))} ${unit}`,
  );
  return parts.join(", ");
}

function footnotes(rows: readonly Row[]): string {
  const peers = [...new Set(rows.map((row) => row.peerName).filter((name) => name !== undefined))];
  const notes = rows.flatMap((row) => row.notes.map((note) => `note: ${row.case}: ${note.split("\n")[0]}`));
  return [
    "Figures are medians of the rounds with their smallest and largest; ratios are ours divided by theirs.",
    ...(peers.length > 0 ? [`peer: ${peers.join(", ")}`] : []),
    ...notes,
    "",
  ].join("\n");
}
