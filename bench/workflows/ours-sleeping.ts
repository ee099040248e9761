// Limpet: very many sleeping workflows: the rate of their starts, their memory, and the punctuality of some
// others that are due meanwhile.
import type { App } from "../../src/index.ts";
import { heapBytes } from "../actors/heap.ts";
import type { Make, Measurement } from "../case.ts";
import { OtherProcess } from "../cluster/other-process.ts";
import { eachOnce } from "../load.ts";
import { monotonicMs, wallOffset } from "../reminders/moments.ts";
import { quantile } from "../report/latencies.ts";
import { until } from "../until.ts";
import { HEAP_IDLE, HEAP_STARTER, HEAP_WITHOUT, LATE_P50, LATE_P99, STARTED } from "./figures.ts";
import { isAtRest, storeOf } from "./ours.ts";
import { openSleepers, sleeper, whenAwake } from "./sleeper.ts";

const STARTING_AT_ONCE = 500;
const QUIET_LOOKS = 3;
const LONG_MS = 24 * 3_600_000;
/** Time before the first of the due ones. */
const AHEAD_MS = 3_000;
const LIMIT_MS = 60_000;

interface Load {
  /** Sleepers that are not due during the measurement. */
  readonly count: number;
  /** Sleepers that become due, in `spreadMs`. */
  readonly due: number;
  readonly spreadMs: number;
}

export const sleeping: Make = async (settings) => {
  const { quick, params } = settings;
  const load: Load = {
    count: Number(quick ? params.quickCount : params.count),
    due: Number(quick ? params.quickDue : params.due),
    spreadMs: Number(quick ? params.quickSpreadMs : params.spreadMs),
  };
  const store = storeOf(settings);
  const app = await openSleepers(store);
  await startAll(app, "warm", quick ? 100 : 2_000, () => Date.now() + LONG_MS, 100);
  return { run: () => measure(app, store, load), close: () => app.stop() };
};

async function measure(app: App, store: string, load: Load): Promise<Measurement> {
  const { count } = load;
  const without = await idleHeap(store);
  const moment = Date.now() + LONG_MS;
  const begin = performance.now();
  await startAll(app, "long", count, () => moment);
  await untilAsleep(app);
  const rate = count / ((performance.now() - begin) / 1_000);
  const stored = await app.workflows.count({ type: sleeper.name, status: "running" });
  if (stored < count) throw new Error(`${count} were started, and ${stored} are stored`);
  const starter = (await heapBytes()) / 2 ** 20;
  const idle = await idleHeap(store);
  const late = await lateness(app, load);
  return {
    [STARTED]: rate,
    [HEAP_WITHOUT]: without,
    [HEAP_STARTER]: starter,
    [HEAP_IDLE]: idle,
    [LATE_P50]: quantile(late, 0.5),
    [LATE_P99]: quantile(late, 0.99),
  };
}

function startAll(app: App, kind: string, count: number, dueAt: (item: number) => number, atOnce = STARTING_AT_ONCE) {
  return eachOnce(count, atOnce, (item) =>
    app.workflows.start(sleeper, { id: `${kind}-${item}`, input: { item, until: dueAt(item) } }),
  );
}

/** Memory in MB of another process on the same store, without work. */
async function idleHeap(store: string): Promise<number> {
  const idle = await OtherProcess.start("workflows/ours-idle-process.ts", { store });
  const bytes = (await idle.ask("heap")) as number;
  await idle.end("SIGTERM");
  return bytes / 2 ** 20;
}

/** No run was in progress for several checks in a row. */
async function untilAsleep(app: App): Promise<void> {
  let quiet = 0;
  await until("all are asleep", () => {
    quiet = isAtRest(app) ? quiet + 1 : 0;
    return quiet === QUIET_LOOKS;
  });
}

/** Lateness in ms of each sleeper that becomes due. */
async function lateness(app: App, { due, spreadMs }: Load): Promise<Float64Array> {
  const moments = new Float64Array(due);
  let awake = 0;
  whenAwake((item) => {
    moments[item] = monotonicMs();
    awake++;
  });
  const first = Date.now() + AHEAD_MS;
  const dueAt = (item: number) => first + Math.floor((item * spreadMs) / due);
  await startAll(app, "due", due, dueAt);
  await untilAsleep(app);
  if (Date.now() >= first) throw new Error("not all were started before the first of them was due");
  await until("all are awake", () => awake >= due, LIMIT_MS + spreadMs);
  if (awake !== due) throw new Error(`${awake - due} were woken twice`);
  const offset = wallOffset();
  const late = moments.map((moment, item) => moment + offset - dueAt(item));
  if (late.some((ms) => ms < -1)) throw new Error("some were woken early");
  return late;
}
