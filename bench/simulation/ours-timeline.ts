// Limpet: virtual time alone. So many events repeat, each at its own time.

import { KIND, Timeline } from "../../src/world/timeline.ts";
import type { Make } from "../case.ts";

export const timeline: Make = async ({ durationMs, warmupMs, params }) => {
  const time = new Timeline();
  const happen = params.promises ? awaiting : plain;
  for (let i = 0; i < Number(params.things); i++) happen(time, i);
  const measured = async (ms: number): Promise<number> => {
    const [start, steps] = [performance.now(), time.steps];
    do await time.run(time.now + SLICE_MS);
    while (performance.now() - start < ms);
    return (time.steps - steps) / ((performance.now() - start) / 1_000);
  };
  await measured(warmupMs);
  return { run: () => measured(durationMs), close: async () => {} };
};

/** Long enough that reading the clock costs nothing. */
const SLICE_MS = 1_000;

function plain(time: Timeline, i: number): void {
  const again = (): void => void time.plan(time.now + 10 + (i % 7), KIND.timer, undefined, again);
  again();
}

/** The work of most steps of a program: an await continues. */
function awaiting(time: Timeline, i: number): void {
  const again = (): void => {
    const { promise, resolve } = Promise.withResolvers<void>();
    void promise.then(() => void time.plan(time.now + 10 + (i % 7), KIND.timer, undefined, again));
    resolve();
  };
  again();
}
