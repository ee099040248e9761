// Summary of many seeds, for display and as JSON.
import type { Paint } from "../../../src/cli/common/terminal.ts";
import { COVERAGE } from "../../coverage/coverage.ts";
import { type Circumstances, replayCommand, type Variation } from "../circumstances.ts";
import type { Report } from "../job.ts";
import type { Figures } from "./figures.ts";
import { showTime } from "./figures.ts";

/** Most seeds in the list of one rule. */
const MOST_SEEDS = 20;
/** A run with this many seeds should reach every situation. */
const LONG_RUN = 5_000;

const missedSituations = (reached: ReadonlySet<string>): string[] =>
  Object.keys(COVERAGE).filter((mark) => !reached.has(mark));

/** A long run that misses a situation has faults or calls that are too tame. */
const isTooTame = ({ seeds, reached: marks }: Figures): boolean =>
  seeds >= LONG_RUN && missedSituations(marks).length > 0;

export function summaryOf(figures: Figures, failed: readonly Report[], isInterrupted: boolean, paint: Paint): string {
  const { seeds, seconds, simulatedMs, steps, operations, reached: marks } = figures;
  const rate = (amount: number): string => Math.round(amount / Math.max(seconds, 0.001)).toLocaleString("en");
  const happened = [...figures.faults].filter(([, count]) => count > 0).map(([name, count]) => `${name} ${count}`);
  const missed = missedSituations(marks);
  return [
    "",
    `${seeds} ${seeds === 1 ? "seed" : "seeds"} in ${seconds.toFixed(1)} s (${rate(seeds)} seeds/s), ${showTime(simulatedMs)} simulated (${rate(simulatedMs / 1_000)} times real time)`,
    `${steps.toLocaleString("en")} steps (${rate(steps)}/s), ${operations.toLocaleString("en")} calls`,
    `faults: ${happened.join(", ") || "none"}`,
    ...(figures.missedFaults.length > 0 ? [`never:  ${figures.missedFaults.join(", ")}`] : []),
    `coverage: ${marks.size} of ${marks.size + missed.length} situations${missed.length > 0 ? `; missed: ${missed.join("; ")}` : ""}`,
    ...(isTooTame(figures) ? [paint("yellow", `too tame: ${seeds} seeds are enough to reach every situation`)] : []),
    ...(isInterrupted ? [paint("yellow", "interrupted")] : []),
    ...(figures.overran.length === 0 ? [] : [paint("yellow", overranText(figures.overran))]),
    ...(failed.length === 0
      ? [paint("green", figures.overran.length === 0 ? "every rule held" : "every rule held in the runs that ended")]
      : broken(figures, failed).map((line) => paint("red", line))),
  ].join("\n");
}

/** Listed apart from failures: the outcome of these seeds is unknown. */
function overranText(seeds: readonly number[]): string {
  const shown = seeds.slice(0, MOST_SEEDS).join(" ");
  return `not finished in real time, nothing found: ${shown}${seeds.length > MOST_SEEDS ? " …" : ""}`;
}

/** The violated rules, with their seeds. */
function broken({ seeds }: Figures, failed: readonly Report[]): string[] {
  const byChecker = Map.groupBy(failed, ({ violations }) => violations[0]!.checker);
  const lines = [...byChecker].map(([checker, reports]) => {
    const numbers = reports.map(({ seed }) => seed).sort((a, b) => a - b);
    const more = numbers.length > MOST_SEEDS ? " …" : "";
    return `  ${checker}: ${numbers.slice(0, MOST_SEEDS).join(" ")}${more}`;
  });
  return [`${failed.length} of ${seeds} seeds failed`, ...lines.sort()];
}

export function jsonOf(
  figures: Figures,
  from: number,
  failed: readonly Report[],
  variation: Variation,
  { commit, node }: Circumstances,
) {
  return {
    commit,
    node,
    bug: variation.bug ?? null,
    from,
    seeds: figures.seeds,
    runs: figures.runs,
    failed: failed.length,
    overran: figures.overran,
    violations: failed.flatMap(({ seed, violations }) =>
      violations.map(({ checker, what, at }) => ({ seed, checker, what, at, replay: replayCommand(seed, variation) })),
    ),
    seconds: figures.seconds,
    simulatedSeconds: Math.round(figures.simulatedMs) / 1_000,
    events: figures.steps,
    calls: figures.operations,
    faults: Object.fromEntries(figures.faults),
    coverage: {
      reached: [...figures.reached].sort(),
      missed: missedSituations(figures.reached),
      tooTame: isTooTame(figures),
    },
  };
}
