// Entry of `npm run bench:against -- <commit>`: measures our side of cases with this code and with an earlier
// commit, in interleaved pairs of new processes. Prints the median ratio of the pairs with its 95 % interval,
// of each figure and of the CPU time per operation. The earlier code lives in a temporary git worktree with
// the packages of this folder.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { AREAS } from "./areas.ts";
import type { BenchCase, Contender, Measurement } from "./case.ts";
import { describeMachine } from "./conditions.ts";
import { cpuRateOf, figuresOf, verdictOf } from "./report/pairs.ts";
import { intervalOf, spreadOf } from "./report/statistics.ts";
import { type StartedProcess, Workplace } from "./workplace.ts";

const HERE = fileURLToPath(new URL("./", import.meta.url));
const ROOT = fileURLToPath(new URL("../", import.meta.url));
/** The hot paths: a change that is not about them must not slow them down. */
const HOT = [
  "call, one at a time",
  "call, 256 in flight over 1,000 actors",
  "durable turn on SQLite, 256 in flight",
  "durable turn on PostgreSQL, 256 in flight",
  "call to another host, one at a time",
  "drain 100,000 due on SQLite, one process",
  "ten steps on SQLite",
];
const PACE = { durationMs: 1_000, warmupMs: 400, quick: false } as const;
/**
 * A process measures after this much CPU time, because the compiler uses much of it. `rounds` limits the wait
 * on a busy machine.
 */
const WARM = { cpuSeconds: 3, rounds: 10 } as const;
const LIMITS = { pairs: { least: 2, most: 200, usual: 15 }, percent: 3 } as const;
const HELP = `Usage: npm run bench:against -- <commit> [options]

Compares this code with an earlier commit: one new process of each, in turn, for each pair.
A ratio above 1 means that this code is better. Without --case, the cases of the hot paths run.

  --case <text>    cases whose name contains this text (several: --case a --case b)
  --pairs <n>      pairs per case (default ${LIMITS.pairs.usual})
  --help           this text

Exit code 0: no case is more than ${LIMITS.percent} % worse; 1: a case is, or failed; 2: wrong options.
`;

const print = (line: string) => process.stderr.write(`${line}\n`);

process.exitCode = await main(process.argv.slice(2));

async function main(words: readonly string[]): Promise<number> {
  const options = read(words);
  if (typeof options === "number") return options;
  const earlier = mkdtempSync(join(tmpdir(), "limpet-earlier-"));
  const git = (...args: string[]) => execFileSync("git", args, { cwd: ROOT, stdio: ["ignore", "pipe", "inherit"] });
  const workplace = await Workplace.open(PACE, print);
  const end = () => {
    rmSync(earlier, { recursive: true, force: true });
    git("worktree", "prune");
  };
  process.once("SIGINT", () => void workplace.close().finally(() => process.exit(130)));
  process.once("exit", end);
  try {
    git("worktree", "add", "--quiet", "--detach", "--force", earlier, options.commit);
    symlinkSync(join(ROOT, "node_modules"), join(earlier, "node_modules"), "dir");
    print(describeMachine());
    return (await compareAll(options, join(earlier, "bench"), workplace)) ? 0 : 1;
  } finally {
    await workplace.close();
  }
}

interface Options {
  readonly commit: string;
  readonly texts: readonly string[];
  readonly pairs: number;
}

/** A number is the exit code. */
function read(words: readonly string[]): Options | number {
  try {
    const { values, positionals } = parseArgs({
      args: [...words],
      allowPositionals: true,
      options: { help: { type: "boolean" }, case: { type: "string", multiple: true }, pairs: { type: "string" } },
    });
    if (values.help) {
      process.stdout.write(HELP);
      return 0;
    }
    const pairs = Number(values.pairs ?? LIMITS.pairs.usual);
    const { least, most } = LIMITS.pairs;
    if (!Number.isInteger(pairs) || pairs < least || pairs > most) {
      throw new Error(`--pairs must be a whole number from ${least} to ${most}; got "${values.pairs}"`);
    }
    const [commit, ...more] = positionals;
    if (commit === undefined || more.length > 0) throw new Error("Name one commit. --help shows the options.");
    execFileSync("git", ["rev-parse", "--verify", "--quiet", `${commit}^{commit}`], { cwd: ROOT, stdio: "ignore" });
    const texts = (values.case ?? []).map((text) => text.toLowerCase());
    const missed = texts.find((text) => !casesOf(AREAS).some((it) => isNamed(it, text)));
    if (missed !== undefined)
      throw new Error(`no case has a name with "${missed}"; docs/benchmarks.md names the cases`);
    return { commit, texts, pairs };
  } catch (error) {
    const isGit = error instanceof Error && "status" in error;
    print(isGit ? "There is no such commit in this repository." : (error as Error).message);
    return 2;
  }
}

/** False: a case is worse, or failed. */
async function compareAll({ texts, pairs }: Options, earlier: string, workplace: Workplace): Promise<boolean> {
  const areas = (await import(pathToFileURL(join(earlier, "areas.ts")).href)) as { readonly AREAS: typeof AREAS };
  const before = new Map(casesOf(areas.AREAS).map((it) => [it.name, it]));
  const isChosen = (it: BenchCase) =>
    texts.length === 0 ? HOT.includes(it.name) : texts.some((text) => isNamed(it, text));
  let isGood = true;
  for (const now of casesOf(AREAS).filter(isChosen)) {
    const then = before.get(now.name);
    if (then === undefined) {
      print(`${now.name}: the earlier commit has no such case`);
      continue;
    }
    try {
      isGood = (await compare(now, then.ours, pairs, earlier, workplace)) && isGood;
    } catch (error) {
      print(`${now.name}: failed: ${error instanceof Error ? error.message.split("\n")[0] : String(error)}`);
      isGood = false;
    }
  }
  return isGood;
}

/** `text`: lower case. */
function isNamed({ name }: BenchCase, text: string): boolean {
  return name.toLowerCase().includes(text);
}

function casesOf(areas: typeof AREAS): readonly BenchCase[] {
  return Object.values(areas).flat();
}

/** The figures of one measurement, and the operations per CPU second if they are known. */
async function measure(benchCase: BenchCase, started: StartedProcess): Promise<ReadonlyMap<string, number>> {
  const isCold = () => (started.cpuSeconds() ?? WARM.cpuSeconds) < WARM.cpuSeconds;
  for (let round = 0; !benchCase.fresh && isCold() && round < WARM.rounds; round++) await started.run();
  const [cpuBefore, start] = [started.cpuSeconds(), performance.now()];
  const value: Measurement = await started.run();
  const [seconds, cpuAfter] = [(performance.now() - start) / 1000, started.cpuSeconds()];
  const figures = new Map(figuresOf(benchCase, value));
  if (cpuBefore === undefined || cpuAfter === undefined) return figures;
  const rate = cpuRateOf(benchCase, value, { seconds, cpuSeconds: cpuAfter - cpuBefore });
  return rate === undefined ? figures : figures.set("CPU time", rate);
}

async function compare(
  benchCase: BenchCase,
  then: Contender,
  pairs: number,
  earlier: string,
  workplace: Workplace,
): Promise<boolean> {
  const sides = [
    { contender: benchCase.ours, bench: HERE },
    { contender: then, bench: earlier },
  ] as const;
  const ratios = new Map<string, number[]>();
  for (let pair = 0; pair < pairs; pair++) {
    const measured = new Map<string, ReadonlyMap<string, number>>();
    for (const { contender, bench } of pair % 2 === 0 ? sides : [...sides].reverse()) {
      const started = await workplace.start(contender, bench);
      measured.set(bench, await measure(benchCase, started));
      await started.close();
    }
    for (const [figure, now] of measured.get(HERE)!) {
      const ratio = now / measured.get(earlier)!.get(figure)!;
      ratios.set(figure, [...(ratios.get(figure) ?? []), ratio]);
    }
    print(`    ${benchCase.name}: pair ${pair + 1}/${pairs}`);
  }
  let isGood = true;
  for (const [figure, values] of ratios) {
    const interval = intervalOf(values);
    const verdict = verdictOf(interval, LIMITS.percent / 100);
    isGood &&= verdict !== "worse";
    const [low, high] = interval.map((bound) => bound.toFixed(3));
    const name = figure === "" ? benchCase.name : `${benchCase.name}, ${figure}`;
    process.stdout.write(`${name.padEnd(48)} ${spreadOf(values)!.median.toFixed(3)} (${low} to ${high})  ${verdict}\n`);
  }
  return isGood;
}
