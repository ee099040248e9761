// Speed of workflows of ten empty steps, one after the other in each of so many callers: from the start call
// until the result is known.
import type { Make, Measurement } from "../case.ts";
import { quantile } from "../report/latencies.ts";
import type { StartEngine } from "./engine.ts";
import { IN_FLIGHT, p50At, p99At, rateAt } from "./figures.ts";

const STEPS = 10;
/** Before the measurement. A single run takes another code path than many, in most engines. */
const WARM_IN_FLIGHT = [50, 1] as const;

export const makeTenSteps =
  (start: StartEngine): Make =>
  async (settings) => {
    const { durationMs, warmupMs } = settings;
    const engine = await start(settings, () => {});
    let next = 0;

    const pass = async (inFlight: number, ms: number) => {
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

    for (const inFlight of WARM_IN_FLIGHT) await pass(inFlight, warmupMs);
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
