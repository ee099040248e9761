// Limpet: runs that are woken, out of memory (nothing is kept there) or in it.
import type { App } from "../../src/index.ts";
import { monotonicMs } from "../reminders/moments.ts";
import { go, isAtRest, open, storeOf, waiter, woken } from "./ours.ts";
import { makeReplay, type Sleeper } from "./replay.ts";

let wakes = 0;

/** Resolves when its history says that it waits. */
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
  // It is somewhere in its steps until it hears this.
  await wake();
  return { wake };
}

export const replay = makeReplay(async (settings) => {
  const app = await open(storeOf(settings), { sticky: false });
  return { record: (steps) => record(app, steps), close: () => app.stop() };
});
