// Runs many seeds on several processes, prints failures at once and totals at the end.
import { randomInt } from "node:crypto";
import type { Terminal } from "../../../src/cli/common/terminal.ts";
import type { Arguments } from "../arguments.ts";
import { type Circumstances, circumstances } from "../circumstances.ts";
import { failureText, saveFailure } from "../failures.ts";
import { Interrupt } from "../interrupt.ts";
import type { Report, Worker } from "../job.ts";
import { perform } from "../perform.ts";
import { planOf } from "../plan-of.ts";
import { Progress } from "../progress.ts";
import { Crew } from "./crew.ts";
import { Figures } from "./figures.ts";
import { jsonOf, summaryOf } from "./summary.ts";

/** Range of the first seed, if the command names none. */
const FIRST_SEEDS = 1_000_000_000;

export async function manySeeds(options: Arguments, terminal: Terminal): Promise<number> {
  const many = new ManySeeds(options, terminal);
  return many.run();
}

class ManySeeds {
  readonly #options: Arguments;
  readonly #terminal: Terminal;
  readonly #conditions: Circumstances = circumstances();
  readonly #figures = new Figures();
  readonly #failed: Report[] = [];
  readonly #from: number;

  constructor(options: Arguments, terminal: Terminal) {
    this.#options = options;
    this.#terminal = terminal;
    this.#from = options.from ?? randomInt(1, FIRST_SEEDS);
  }

  async run(): Promise<number> {
    const { jobs, seeds, task, json, minutes } = this.#options;
    const print = (line: string): void => (json ? this.#terminal.errLine(line) : this.#terminal.line(line));
    const count = task === "soak" ? Number.POSITIVE_INFINITY : seeds;
    const endsAt = task === "soak" ? performance.now() + minutes * 60_000 : Number.POSITIVE_INFINITY;
    const crew = jobs > 1 && count > 1 ? new Crew({ jobs }) : undefined;
    const progress = new Progress(process.stderr, () => this.#figures.line);
    const interrupt = new Interrupt(
      (line) => {
        progress.clear();
        this.#terminal.errLine(line);
      },
      () => crew?.close(),
    );
    print(this.#header(crew === undefined ? 1 : jobs));

    let next = this.#from;
    const oneAfterTheOther = async (worker: Worker): Promise<void> => {
      while (next < this.#from + count && !interrupt.isAsked && performance.now() < endsAt) {
        const report = await worker.perform(this.#job(next++));
        this.#figures.add(report);
        if (report.overran !== undefined) print(`seed ${report.seed} was stopped: ${report.overran}`);
        if (report.violations.length === 0) continue;
        progress.clear();
        this.#reportFailure(report, print);
      }
    };
    await Promise.all(
      Array.from({ length: crew === undefined ? 1 : jobs }, () => oneAfterTheOther(crew ?? { perform })),
    );
    crew?.close();
    progress.end();
    interrupt.end();

    if (json) this.#terminal.json(jsonOf(this.#figures, this.#from, this.#failed, this.#options, this.#conditions));
    else this.#terminal.line(summaryOf(this.#figures, this.#failed, interrupt.isAsked, this.#terminal.paint));
    if (this.#failed.length > 0) return 1;
    if (interrupt.isAsked) return 130;
    return this.#figures.overran.length > 0 ? 3 : 0;
  }

  #header(jobs: number): string {
    const { seeds, task, minutes, once, bug } = this.#options;
    const much = task === "soak" ? `${minutes} minutes of seeds` : `${seeds} ${seeds === 1 ? "seed" : "seeds"}`;
    const how = [
      ...(once ? ["each once"] : ["each twice"]),
      ...(jobs > 1 ? [`${jobs} processes`] : []),
      ...(bug === undefined ? [] : [`with the bug ${bug}`]),
    ];
    return `${much} from ${this.#from} (${how.join(", ")})`;
  }

  #job(seed: number) {
    const { once, hosts } = this.#options;
    return { seed, once, hosts };
  }

  #reportFailure(report: Report, print: (line: string) => void): void {
    const { task, hosts, json } = this.#options;
    this.#failed.push(report);
    const paint = json ? this.#terminal.paintErr : this.#terminal.paint;
    print(failureText(report, this.#options, this.#conditions, paint));
    if (task !== "soak") return;
    const plan = planOf({ seed: report.seed, hosts });
    print(`  saved:  ${saveFailure(`${report.seed}`, plan, report.violations, this.#options, this.#conditions)}`);
  }
}
