// Measures the draining of a backlog: everything is due and becomes visible at the same moment; from the
// first handled item until nothing is left in the store.
import type { Make, Running, Settings } from "../case.ts";
import { pause } from "../until.ts";
import type { Handlers } from "./handlers.ts";
import { monotonicMs } from "./moments.ts";

export interface Backlog {
  /** Items 0 to count - 1, visible at once; processes are notified where the store can. */
  load(count: number): Promise<void>;
  /** Number of items that are not settled. */
  left(): Promise<number>;
  close(): Promise<void>;
}

const LIMIT_MS = 300_000;
const LOOK_MS = 5;

/** Items per second. Rejects if an item was handled twice. */
export async function drainOnce(handlers: Handlers, backlog: Backlog, count: number): Promise<number> {
  await handlers.begin(count);
  await backlog.load(count);
  await handlers.done(LIMIT_MS);
  const start = performance.now();
  while ((await backlog.left()) > 0) {
    if (performance.now() - start > LIMIT_MS) throw new Error("what was handled is still there");
    await pause(LOOK_MS);
  }
  const end = monotonicMs();
  const { first, twice } = await handlers.report();
  if (twice > 0) throw new Error(`${twice} were handled twice`);
  return count / ((end - first) / 1_000);
}

/** A contender of the cases that drain. */
export const makeDrain =
  (start: (settings: Settings) => Promise<{ handlers: Handlers; backlog: Backlog }>): Make =>
  async (settings): Promise<Running> => {
    const { quick, params } = settings;
    const { handlers, backlog } = await start(settings);
    const count = Number(quick ? params.quickCount : params.count);
    // Once for the warm-up: compilation takes a second or two in all processes.
    await drainOnce(handlers, backlog, count);
    return {
      run: () => drainOnce(handlers, backlog, count),
      async close() {
        await handlers.end();
        await backlog.close();
      },
    };
  };
