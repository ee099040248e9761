// How fast workflows of ten steps that do nothing run, one after the other in each of so many callers: from the call that starts one until
// its result is known.
import type { Make, Measurement, Settings } from "../case.ts";
import { quantile } from "../sticky/latencies.ts";
import { IN_FLIGHT, p50At, p99At, rateAt } from "./figures.ts";

export const STEPS = 10;

export interface Engine {
  /** Starts a workflow of this many steps, and resolves with its result: how many steps it took. */
  run(workflow: number, steps: number): Promise<number>;
  close(): Promise<void>;
}

interface Pass {
  readonly rate: number;
  readonly took: Float64Array;
}

export const makeTenSteps =
  (start: (settings: Settings) => Promise<Engine>): Make =>
  async (settings) => {
    const { durationMs, warmupMs } = settings;
    const engine = await start(settings);
    let next = 0;

    const pass = async (inFlight: number, ms: number): Promise<Pass> => {
      const took: number[] = [];
      const begin = performance.now();
      const caller = async () => {
        do {
          const from = performance.now();
          const steps = await engine.run(next++, STEPS);
          took.push(performance.now() - from);
          if (steps !== STEPS) throw new Error(`a workflow of ${STEPS} steps took ${steps}`);
        } while (performance.now() - begin < ms);
      };
      await Promise.all(Array.from({ length: inFlight }, caller));
      return { rate: took.length / ((performance.now() - begin) / 1_000), took: Float64Array.from(took) };
    };

    await pass(50, warmupMs);
    return {
      async run(): Promise<Measurement> {
        const figures: Record<string, number> = {};
        for (const inFlight of IN_FLIGHT) {
          const { rate, took } = await pass(inFlight, durationMs);
          figures[rateAt(inFlight)] = rate;
          figures[p50At(inFlight)] = quantile(took, 0.5);
          figures[p99At(inFlight)] = quantile(took, 0.99);
        }
        return figures;
      },
      close: () => engine.close(),
    };
  };
