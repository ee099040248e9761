// Totals of many runs.
import { FAULTS } from "../../faults/all.ts";
import type { Report } from "../job.ts";

export class Figures {
  readonly #began = performance.now();
  seeds = 0;
  runs = 0;
  failed = 0;
  /** Seeds that were stopped because they took too much real time. */
  readonly overran: number[] = [];
  steps = 0;
  simulatedMs = 0;
  operations = 0;
  readonly faults = new Map<string, number>(FAULTS.map(({ name }) => [name, 0]));
  readonly reached = new Set<string>();

  add(report: Report): void {
    this.seeds++;
    this.runs += report.runs;
    if (report.violations.length > 0) this.failed++;
    if (report.overran !== undefined) this.overran.push(report.seed);
    this.steps += report.steps;
    this.simulatedMs += report.simulatedMs;
    this.operations += report.operations;
    for (const [name, count] of Object.entries(report.faults)) {
      this.faults.set(name, (this.faults.get(name) ?? 0) + count);
    }
    for (const mark of report.reached) this.reached.add(mark);
  }

  get seconds(): number {
    return (performance.now() - this.#began) / 1_000;
  }

  get faultCount(): number {
    return this.faults.values().reduce((sum, count) => sum + count, 0);
  }

  /** Faults that never occurred. */
  get missedFaults(): string[] {
    return [...this.faults].filter(([, count]) => count === 0).map(([name]) => name);
  }

  get line(): string {
    const { seeds, failed, seconds, steps, faultCount, reached: marks, simulatedMs } = this;
    const rate = seconds > 0 ? (seeds / seconds).toFixed(1) : "–";
    const found = failed === 0 ? "all held" : `${failed} failed`;
    return [
      `${seeds} seeds (${rate}/s), ${found}`,
      `${showTime(simulatedMs)} simulated`,
      `${showCount(steps)} steps`,
      `${showCount(faultCount)} faults`,
      `${marks.size} situations`,
    ].join(", ");
  }
}

function showCount(count: number): string {
  if (count >= 1e6) return `${(count / 1e6).toFixed(1)} M`;
  return count >= 1e4 ? `${Math.round(count / 1e3)} k` : `${count}`;
}

export function showTime(ms: number): string {
  const hours = ms / 3_600_000;
  if (hours >= 48) return `${(hours / 24).toFixed(1)} days`;
  if (hours >= 1) return `${hours.toFixed(1)} h`;
  return `${(ms / 60_000).toFixed(1)} min`;
}
