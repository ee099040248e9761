// Ratios of interleaved pairs: the figures of a measurement, and a verdict on an interval.
import type { BenchCase, Figure, Measurement } from "../case.ts";
import { numberOf } from "./row.ts";

export type PairVerdict = "not worse" | "worse" | "unresolved";

/** The figures by name, so that more is better; a case with one figure has the name "". */
export function figuresOf(benchCase: BenchCase, value: Measurement): ReadonlyMap<string, number> {
  const rate = ({ better }: Figure, number: number): number => (better === "higher" ? number : 1 / number);
  if (benchCase.figures === undefined) return new Map([["", rate(benchCase, numberOf(value))]]);
  const figures = Object.entries(benchCase.figures);
  return new Map(figures.map(([name, figure]) => [name, rate(figure, numberOf(value, name))]));
}

/** Cost of one measurement. */
export interface Cost {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

/**
 * Operations per CPU second, up to a constant factor of the case. Undefined if the case has no rates. The
 * rates of a case with several of them are measured one after the other, for the same time.
 */
export function cpuRateOf(benchCase: BenchCase, value: Measurement, { seconds, cpuSeconds }: Cost): number | undefined {
  if (benchCase.fixedLoad) return 1 / cpuSeconds;
  const figures = benchCase.figures ?? { "": benchCase };
  const rates = [...figuresOf(benchCase, value)].filter(([name]) => figures[name]!.unit.endsWith("/s"));
  if (rates.length === 0) return undefined;
  const mean = rates.reduce((sum, [, rate]) => sum + rate, 0) / rates.length;
  return (mean * seconds) / cpuSeconds;
}

/** `bound`: the loss that is allowed, as a share. Unresolved: the interval has ratios on both sides of it. */
export function verdictOf([low, high]: readonly [number, number], bound: number): PairVerdict {
  if (low >= 1 - bound) return "not worse";
  return high < 1 - bound ? "worse" : "unresolved";
}
