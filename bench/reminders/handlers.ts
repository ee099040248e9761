// The processes that handle reminders, seen from the measuring one.
import { OtherProcess } from "../cluster/other-process.ts";
import { pause } from "../until.ts";
import type { TallyReport } from "./tally.ts";

const LOOK_MS = 5;

export interface Handled {
  /** Time of the first handling of each, in milliseconds of the monotonic clock. */
  readonly moments: Float64Array;
  /** The same in milliseconds since 1970. */
  readonly wall: Float64Array;
  readonly first: number;
  readonly twice: number;
}

export class Handlers {
  readonly processes: readonly OtherProcess[];
  #count = 0;

  private constructor(processes: readonly OtherProcess[]) {
    this.processes = processes;
  }

  /** `file` is under bench/, and answers like a tally. */
  static async start(file: string, parameter: unknown, processes: number): Promise<Handlers> {
    const started: OtherProcess[] = [];
    for (let i = 0; i < processes; i++) started.push(await OtherProcess.start(file, parameter));
    return new Handlers(started);
  }

  /** Announces this many items, numbered from 0. */
  async begin(count: number): Promise<void> {
    this.#count = count;
    await this.#askAll({ begin: count });
  }

  /** Resolves when all announced items were handled. */
  async done(limitMs: number): Promise<void> {
    const start = performance.now();
    for (;;) {
      const handled = (await this.#askAll("handled")).reduce((sum: number, one) => sum + (one as number), 0);
      if (handled >= this.#count) return;
      if (performance.now() - start > limitMs) {
        throw new Error(`${handled} of ${this.#count} were handled within ${limitMs / 1000} s`);
      }
      await pause(LOOK_MS);
    }
  }

  async report(): Promise<Handled> {
    const moments = new Float64Array(this.#count);
    const wall = new Float64Array(this.#count);
    let twice = 0;
    for (const { hits, wallOffset } of (await this.#askAll("report")) as TallyReport[]) {
      for (let i = 0; i < hits.length; i += 2) {
        const [item, moment] = [hits[i]!, hits[i + 1]!];
        const before = moments[item]!;
        if (before !== 0) twice++;
        if (before !== 0 && before < moment) continue;
        moments[item] = moment;
        wall[item] = moment + wallOffset;
      }
    }
    const missing = moments.filter((moment) => moment === 0).length;
    if (missing > 0) throw new Error(`${missing} of ${this.#count} were never handled`);
    return { moments, wall, first: moments.reduce((a, b) => Math.min(a, b)), twice };
  }

  async end(): Promise<void> {
    await Promise.all(this.processes.map((one) => one.end("SIGTERM")));
  }

  #askAll(question: unknown): Promise<unknown[]> {
    return Promise.all(this.processes.map((one) => one.ask(question)));
  }
}
