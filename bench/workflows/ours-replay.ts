// Limpet: wake-ups of runs, with and without the run in memory.
import type { App } from "../../src/index.ts";
import { monotonicMs } from "../reminders/moments.ts";
import { go, isAtRest, open, storeOf, waiter, woken } from "./ours.ts";
import { makeReplay, type Sleeper } from "./replay.ts";

let wakes = 0;

/** Resolves when its history shows that it waits. */
export async function record(app: App, steps: number): Promise<Sleeper> {
  const handle = await app.workflows.start(waiter, { id: `waiter-${steps}-${wakes++}`, input: steps });
  const wake = async () => {
    const number = ++wakes;
    const { promise, resolve } = Promise.withResolvers<number>();
    woken.set(number, resolve);
    const begin = monotonicMs();
    await handle.signal(go, number);
    const took = (await promise) - begin;
    while (!isAtRest(app)) await new Promise(setImmediate);
    return took;
  };
  // The run is somewhere in its steps until it gets this signal.
  await wake();
  return { wake };
}

export const replay = makeReplay(async (settings) => {
  const app = await open(storeOf(settings), { sticky: false });
  return { record: (steps) => record(app, steps), close: () => app.stop() };
});
