// Limpet: very many reminders that are due in the same millisecond, drained by one host; the memory that
// takes, and the lateness of reminders of another type that another process sets meanwhile.
import { Actor, limpet } from "../../src/index.ts";
import type { Make } from "../case.ts";
import { quantile } from "../report/latencies.ts";
import { pause, until } from "../until.ts";
import { CROWD_MEMORY, CROWD_RATE, LATE_P99 } from "./figures.ts";
import { monotonicMs, wallOffset } from "./moments.ts";
import { Sink, tally } from "./ours.ts";
import { PostgresBacklog } from "./ours-rows.ts";
import type { TallyReport } from "./tally.ts";

const ACTORS = 10_000;
/** Time between two of the other type. */
const APART_MS = 50;
/** Time from setting to the due time: the setting process leaves them to others then. */
const AHEAD_MS = 1_000;
const LIMIT_MS = 1_800_000;
const MIB = 1024 * 1024;

/** Time of handling and due time, by name. */
const handled = new Map<string, { readonly moment: number; readonly due: number }>();

class Bystander extends Actor {
  override onReminder(name: string, due: unknown): void {
    handled.set(name, { moment: monotonicMs(), due: due as number });
  }
}

export const crowd: Make = async ({ postgres, quick, params }) => {
  const app = await limpet({ actors: [Sink, Bystander], store: postgres });
  const outside = await limpet({ actors: [], store: postgres });
  const backlog = await PostgresBacklog.open(postgres, ACTORS);
  const count = Number(quick ? params.quickCount : params.count);

  const run = async () => {
    tally.answer({ begin: count });
    handled.clear();
    await backlog.load(count);
    const before = process.memoryUsage().rss;
    const [begin, set] = [performance.now(), [] as Promise<void>[]];
    let most = before;
    while ((tally.answer("handled") as number) < count) {
      if (performance.now() - begin > LIMIT_MS) throw new Error(`${tally.answer("handled")} of ${count} were handled`);
      const [name, due] = [`bystander-${set.length}`, Date.now() + AHEAD_MS];
      set.push(outside.reminders.set("Bystander", name, name, { due: new Date(due), data: due }));
      await pause(APART_MS);
      most = Math.max(most, process.memoryUsage().rss);
    }
    const took = (performance.now() - begin) / 1_000;
    await Promise.all(set);
    await until("the others are handled", () => handled.size === set.length);
    await until("nothing is left", async () => (await backlog.left()) === 0);
    const { hits } = tally.answer("report") as TallyReport;
    const seen = new Uint8Array(count);
    for (let i = 0; i < hits.length; i += 2) if (seen[hits[i]!]!++ > 0) throw new Error(`${hits[i]} was handled twice`);
    const offset = wallOffset();
    const late = [...handled.values()].map(({ moment, due }) => moment + offset - due);
    return {
      [CROWD_RATE]: count / took,
      [CROWD_MEMORY]: (most - before) / MIB,
      [LATE_P99]: quantile(Float64Array.from(late), 0.99),
    };
  };

  return {
    run,
    async close() {
      await outside.stop();
      await app.stop();
      await backlog.close();
    },
  };
};
