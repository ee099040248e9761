// Cost of replaying a workflow with many steps into memory: an event wakes it, and its code first has to go
// through its whole history. The time of waking a run without steps is subtracted.
import type { Make, Measurement, Settings } from "../case.ts";
import { spreadOf } from "../report/statistics.ts";
import { replayOf } from "./figures.ts";

/** Share of the measured work that is done before as a warm-up. */
const WARM = 1 / 3;

export interface ReplayEngine {
  /** Brings a run to its wait, after so many steps, and out of memory. */
  record(steps: number): Promise<Sleeper>;
  close(): Promise<void>;
}

export interface Sleeper {
  /**
   * Milliseconds from the wake-up until its code has continued. The run is out of memory again when this
   * resolves.
   */
  wake(): Promise<number>;
}

/** A run with steps, and one without. */
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

    /**
     * In turn, so that a busy moment of the machine affects both, and both have the same number of wake-ups.
     */
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
