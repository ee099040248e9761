// Speed of a single workflow, step after step, and its dependence on the number of steps.
import type { Make, Measurement } from "../case.ts";
import type { StartEngine } from "./engine.ts";
import { ALL_STEPS, FIRST_HUNDRED, LAST_BY_FIRST, LAST_HUNDRED } from "./figures.ts";

const PART = 100;

export const makeLongRun =
  (start: StartEngine): Make =>
  async (settings) => {
    const { durationMs, quick, params } = settings;
    const steps = Number(quick ? params.quickSteps : params.steps);
    const moments = new Float64Array(steps);
    const engine = await start(settings, (step) => {
      moments[step] = performance.now();
    });
    let next = 0;

    const once = async () => {
      const begin = performance.now();
      const taken = await engine.run(next++, steps);
      const took = performance.now() - begin;
      if (taken !== steps) throw new Error(`a workflow of ${steps} steps took ${taken}`);
      return { all: took, first: moments[PART]! - moments[0]!, last: moments[steps - 1]! - moments[steps - 1 - PART]! };
    };

    // As long as the others, so that the first hundred steps do not include the compilation.
    await once();
    return {
      async run(): Promise<Measurement> {
        const sum = { all: 0, first: 0, last: 0 };
        let runs = 0;
        for (const begin = performance.now(); runs === 0 || performance.now() - begin < durationMs; runs++) {
          const { all, first, last } = await once();
          sum.all += all;
          sum.first += first;
          sum.last += last;
        }
        const perSecond = (count: number, ms: number) => (count * runs) / (ms / 1_000);
        return {
          [ALL_STEPS]: perSecond(steps, sum.all),
          [FIRST_HUNDRED]: perSecond(PART, sum.first),
          [LAST_HUNDRED]: perSecond(PART, sum.last),
          [LAST_BY_FIRST]: sum.first / sum.last,
        };
      },
      close: () => engine.close(),
    };
  };
