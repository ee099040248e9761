// What it costs to bring a workflow back into memory that has taken many steps: it is woken by something it waits for, and its code has to go
// through everything that was recorded first. What waking one without any steps takes is subtracted.
import type { Make, Measurement, Settings } from "../case.ts";
import { spreadOf } from "../statistics.ts";
import { replayOf } from "./figures.ts";

/** So much of what is measured happens before, uncounted. */
const WARM = 1 / 3;

export interface ReplayEngine {
  /** Brings it to where it waits, with so many steps behind it, and out of memory. */
  record(steps: number): Promise<Sleeper>;
  close(): Promise<void>;
}

export interface Sleeper {
  /** Milliseconds from waking it until its code has gone on from where it waited. It is out of memory again when this resolves. */
  wake(): Promise<number>;
}

/** One that has taken steps, and one that has not. */
interface Pair {
  readonly length: number;
  readonly none: Sleeper;
  readonly sleeper: Sleeper;
}

export const makeReplay =
  (start: (settings: Settings) => Promise<ReplayEngine>): Make =>
  async (settings) => {
    const { quick, params } = settings;
    const lengths = String(quick ? params.quickLengths : params.lengths)
      .split(" ")
      .map(Number);
    const wakes = Number(quick ? params.quickWakes : params.wakes);
    const engine = await start(settings);

    const pairs: Pair[] = [];
    for (const length of lengths) {
      pairs.push({ length, none: await engine.record(0), sleeper: await engine.record(length) });
    }

    /** In turn, so that a busy moment of the machine hits both, and both have been woken as often. */
    const stepsAlone = async ({ none, sleeper }: Pair, times: number) => {
      const took = { none: [] as number[], steps: [] as number[] };
      for (let i = 0; i < times; i++) {
        took.none.push(await none.wake());
        took.steps.push(await sleeper.wake());
      }
      return Math.max(spreadOf(took.steps)!.median - spreadOf(took.none)!.median, 0);
    };

    const warm = Math.ceil(wakes * WARM);
    for (const pair of pairs) await stepsAlone(pair, warm);
    return {
      async run(): Promise<Measurement> {
        const figures: Record<string, number> = {};
        for (const pair of pairs) {
          figures[replayOf(pair.length)] = ((await stepsAlone(pair, wakes)) * 1_000) / pair.length;
        }
        return figures;
      },
      close: () => engine.close(),
    };
  };
