// Limpet: very many sleeping workflows: the rate of their starts, their memory, and the punctuality of some
// others that are due meanwhile.
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

export const sleeping: Make = async (settings) => {
  const { quick, params } = settings;
  const count = Number(quick ? params.quickCount : params.count);
  const due = Number(quick ? params.quickDue : params.due);
  const spreadMs = Number(quick ? params.quickSpreadMs : params.spreadMs);
  const store = storeOf(settings);
  const app = await openSleepers(store);
  const start = (kind: string, item: number, moment: number) =>
    app.workflows.start(sleeper, { id: `${kind}-${item}`, input: { item, until: moment } });

  const idleHeap = async () => {
    const idle = await OtherProcess.start("workflows/ours-idle-process.ts", { store });
    const bytes = (await idle.ask("heap")) as number;
    await idle.end("SIGTERM");
    return bytes / 2 ** 20;
  };

  /** No run was in progress for several checks in a row. */
  const asleep = async () => {
    let quiet = 0;
    await until("all are asleep", () => {
      quiet = isAtRest(app) ? quiet + 1 : 0;
      return quiet === QUIET_LOOKS;
    });
  };

  const punctuality = async () => {
    const moments = new Float64Array(due);
    let awake = 0;
    whenAwake((item) => {
      moments[item] = monotonicMs();
      awake++;
    });
    const first = Date.now() + AHEAD_MS;
    const dueAt = (item: number) => first + Math.floor((item * spreadMs) / due);
    await eachOnce(due, STARTING_AT_ONCE, (item) => start("due", item, dueAt(item)));
    await asleep();
    if (Date.now() >= first) throw new Error("not all were started before the first of them was due");
    await until("all are awake", () => awake >= due, LIMIT_MS + spreadMs);
    if (awake !== due) throw new Error(`${awake - due} were woken twice`);
    const offset = wallOffset();
    const late = moments.map((moment, item) => moment + offset - dueAt(item));
    if (late.some((ms) => ms < -1)) throw new Error("some were woken early");
    return late;
  };

  await eachOnce(quick ? 100 : 2_000, 100, (item) => start("warm", item, Date.now() + LONG_MS));
  return {
    async run(): Promise<Measurement> {
      const without = await idleHeap();
      const moment = Date.now() + LONG_MS;
      const begin = performance.now();
      await eachOnce(count, STARTING_AT_ONCE, (item) => start("long", item, moment));
      await asleep();
      const rate = count / ((performance.now() - begin) / 1_000);
      const stored = await app.workflows.count({ type: sleeper.name, status: "running" });
      if (stored < count) throw new Error(`${count} were started, and ${stored} are stored`);
      const starter = (await heapBytes()) / 2 ** 20;
      const idle = await idleHeap();
      const late = await punctuality();
      return {
        [STARTED]: rate,
        [HEAP_WITHOUT]: without,
        [HEAP_STARTER]: starter,
        [HEAP_IDLE]: idle,
        [LATE_P50]: quantile(late, 0.5),
        [LATE_P99]: quantile(late, 0.99),
      };
    },
    close: () => app.stop(),
  };
};
