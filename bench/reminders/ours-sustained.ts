// Limpet: reminders are set at a steady rate, one to four seconds ahead, and handled in the same process.
import type { Make, Measurement } from "../case.ts";
import { quantile } from "../report/latencies.ts";
import { pause, until } from "../until.ts";
import { FIRED_TWICE, LATE_P50, LATE_P99, NOT_FIRED, SET_RATE } from "./figures.ts";
import { ACTORS, idOf, nameOf, openHost, Sink, tally } from "./ours.ts";
import type { TallyReport } from "./tally.ts";

const TICK_MS = 5;
const AHEAD_MS = 1_000;
const SPREAD_MS = 3_000;
const LIMIT_MS = 60_000;
/** Wait for repeated deliveries. */
const AFTER_MS = 1_000;
/** A number without a common factor with the modulus, so that times are spread and the same each time. */
const STRIDE = 1_237;

export const sustained: Make = async ({ postgres, quick, params }) => {
  const app = await openHost({ store: postgres });
  const rate = Number(params.perSecond);

  const measure = async (seconds: number): Promise<Measurement> => {
    const count = rate * seconds;
    tally.answer({ begin: count });
    const dues = new Float64Array(count);
    const stored: Promise<void>[] = [];
    const begin = performance.now();
    for (let item = 0; item < count; ) {
      const end = Math.min(count, Math.floor(((performance.now() - begin) * rate) / 1_000));
      for (; item < end; item++) {
        const due = Date.now() + AHEAD_MS + ((item * STRIDE) % SPREAD_MS);
        dues[item] = due;
        stored.push(app.reminders.set(Sink, idOf(item, ACTORS), nameOf(item), { due: new Date(due), data: item }));
      }
      if (item < count) await pause(TICK_MS);
    }
    await Promise.all(stored);
    const took = (performance.now() - begin) / 1_000;
    const handled = () => (tally.answer("handled") as number) >= count;
    await until("all are handled", handled, LIMIT_MS).catch(() => undefined);
    await pause(AFTER_MS);
    const { hits, wallOffset } = tally.answer("report") as TallyReport;
    const seen = new Uint8Array(count);
    const late: number[] = [];
    let twice = 0;
    for (let i = 0; i < hits.length; i += 2) {
      const [item, moment] = [hits[i]!, hits[i + 1]!];
      if (seen[item]!++ > 0) twice++;
      else late.push(moment + wallOffset - dues[item]!);
    }
    const lateness = Float64Array.from(late);
    if (lateness.some((ms) => ms < -1)) throw new Error("some were handled early");
    return {
      [SET_RATE]: count / took,
      [NOT_FIRED]: count - late.length,
      [FIRED_TWICE]: twice,
      [LATE_P50]: quantile(lateness, 0.5),
      [LATE_P99]: quantile(lateness, 0.99),
    };
  };

  await measure(1);
  return {
    run: () => measure(Number(quick ? params.quickSeconds : params.seconds)),
    close: () => app.stop(),
  };
};
