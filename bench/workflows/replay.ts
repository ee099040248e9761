// What it costs to bring a workflow back into memory that has taken many steps: it is woken by something it waits for, and its code has to go
// through everything that was recorded first. What waking one without any steps takes is subtracted.
import type { Make, Measurement, Settings } from "../case.ts";
import { spreadOf } from "../statistics.ts";
import { replayOf } from "./figures.ts";

export interface ReplayEngine {
  /** Brings it to where it waits, with so many steps behind it, and out of memory. */
  record(steps: number): Promise<Sleeper>;
  close(): Promise<void>;
}

export interface Sleeper {
  /** Milliseconds from waking it until its code has gone on from where it waited. It is out of memory again when this resolves. */
  wake(): Promise<number>;
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

    const medianOf = async (sleeper: Sleeper) => {
      const took: number[] = [];
      for (let i = 0; i < wakes; i++) took.push(await sleeper.wake());
      return spreadOf(took)!.median;
    };

    const none = await engine.record(0);
    const sleepers: { readonly length: number; readonly sleeper: Sleeper }[] = [];
    for (const length of lengths) sleepers.push({ length, sleeper: await engine.record(length) });
    for (const { sleeper } of sleepers) await sleeper.wake();
    await medianOf(none);
    return {
      async run(): Promise<Measurement> {
        const figures: Record<string, number> = {};
        for (const { length, sleeper } of sleepers) {
          const [without, withSteps] = [await medianOf(none), await medianOf(sleeper)];
          figures[replayOf(length)] = (Math.max(withSteps - without, 0) * 1_000) / length;
        }
        return figures;
      },
      close: () => engine.close(),
    };
  };
