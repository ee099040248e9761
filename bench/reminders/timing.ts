// Measures the time from setting a due reminder until it is handled, and the lateness of reminders that are
// due later. They are set in this process and handled in another one.
import type { Make, Measurement, Settings } from "../case.ts";
import { quantile } from "../report/latencies.ts";
import { pause } from "../until.ts";
import { P50, P99 } from "./figures.ts";
import type { Handlers } from "./handlers.ts";
import { monotonicMs } from "./moments.ts";

export interface Timed {
  readonly handlers: Handlers;
  /** Resolves when it is stored. `due`: milliseconds since 1970; undefined: now. */
  set(item: number, due: number | undefined): Promise<unknown>;
  close(): Promise<void>;
}

const LIMIT_MS = 60_000;
/** Interval between two that are due now. */
const APART_MS = 8;
/** Time before the first of the later ones. */
const AHEAD_MS = 2_000;
const SETTING_AT_ONCE = 50;

async function dueNow({ handlers, set }: Timed, count: number): Promise<Measurement> {
  await handlers.begin(count);
  const starts = new Float64Array(count);
  const begin = performance.now();
  for (let item = 0; item < count; item++) {
    const early = begin + item * APART_MS - performance.now();
    if (early > 0) await pause(early);
    starts[item] = monotonicMs();
    await set(item, undefined);
  }
  await handlers.done(LIMIT_MS);
  const { moments, twice } = await handlers.report();
  if (twice > 0) throw new Error(`${twice} were handled twice`);
  return quantiles(moments.map((moment, item) => moment - starts[item]!));
}

async function dueLater({ handlers, set }: Timed, count: number, spreadMs: number): Promise<Measurement> {
  await handlers.begin(count);
  const first = Date.now() + AHEAD_MS + count;
  const dues = Float64Array.from({ length: count }, (_, item) => first + Math.floor((item * spreadMs) / count));
  let next = 0;
  const setter = async () => {
    while (next < count) {
      const item = next++;
      await set(item, dues[item]!);
    }
  };
  await Promise.all(Array.from({ length: SETTING_AT_ONCE }, setter));
  if (Date.now() >= first) throw new Error("not all were set before the first of them was due");
  await handlers.done(LIMIT_MS + spreadMs);
  const { wall, twice } = await handlers.report();
  if (twice > 0) throw new Error(`${twice} were handled twice`);
  const late = wall.map((moment, item) => moment - dues[item]!);
  const earliest = late.reduce((a, b) => Math.min(a, b));
  // Both clocks are those of one machine, read with some microseconds in between.
  if (earliest < -1) throw new Error(`one was handled ${-earliest} ms early`);
  return quantiles(late);
}

const quantiles = (values: Float64Array): Measurement => ({
  [P50]: quantile(values, 0.5),
  [P99]: quantile(values, 0.99),
});

type Start = (settings: Settings) => Promise<Timed>;

export const makeDueNow =
  (start: Start): Make =>
  async (settings) => {
    const { quick, params } = settings;
    const timed = await start(settings);
    await dueNow(timed, 100);
    return {
      run: () => dueNow(timed, Number(quick ? params.quickCount : params.count)),
      close: () => timed.close(),
    };
  };

export const makeDueLater =
  (start: Start): Make =>
  async (settings) => {
    const { quick, params } = settings;
    const timed = await start(settings);
    await dueLater(timed, 50, 500);
    const [count, spreadMs] = quick ? [params.quickCount, params.quickSpreadMs] : [params.count, params.spreadMs];
    return {
      run: () => dueLater(timed, Number(count), Number(spreadMs)),
      close: () => timed.close(),
    };
  };
