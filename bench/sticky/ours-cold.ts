// Limpet: first calls to actors without earlier calls. They become active on the calling host. The leader,
// which grants each sticky one, is another process.
import type { App } from "../../src/index.ts";
import type { Make, Measurement } from "../case.ts";
import { LeaderProcess } from "../leader.ts";
import { latenciesOf, quantile } from "../report/latencies.ts";
import { HashKeeper, HashPinger, openHost, StickyKeeper, StickyPinger } from "./actors.ts";
import { p50At, p99At } from "./figures.ts";

const PINGERS = { sticky: StickyPinger, hash: HashPinger };
const KEEPERS = { sticky: StickyKeeper, hash: HashKeeper };

/** First calls of one measurement: one at a time they take long, and with state longer. */
function countOf(inFlight: number, state: boolean, quick: boolean): number {
  if (quick) return 500;
  if (state) return inFlight === 1 ? 500 : 5_000;
  return inFlight === 1 ? 2_000 : 20_000;
}

export const firstCalls: Make = async ({ postgres, quick, params }) => {
  const leader = await LeaderProcess.start({ store: postgres });
  const app = await openHost({ store: postgres, schedulers: [leader.address] });
  const type = (params.state ? KEEPERS : PINGERS)[params.placement as "sticky" | "hash"];
  const levels = String(params.inFlight).split(",").map(Number);
  let last = 0;
  const first = async () => {
    const id = `actor-${++last}`;
    if ((await app.actor(type, id).ping(last)) <= 0) throw new Error(`${id} gave a wrong answer`);
  };
  const measure = async (hurry: boolean): Promise<Measurement> => {
    const figures: Record<string, number> = {};
    for (const inFlight of levels) {
      const took = await latenciesOf(countOf(inFlight, params.state === true, hurry), inFlight, first);
      figures[p50At(inFlight)] = quantile(took, 0.5);
      figures[p99At(inFlight)] = quantile(took, 0.99);
    }
    return figures;
  };
  await measure(true);
  return {
    async run() {
      const figures = await measure(quick);
      await check(app, type.name, last, params.placement === "sticky");
      return figures;
    },
    async close() {
      await app.stop();
      await leader.end();
    },
  };
};

/** All of them are here, and the leader has a record of each sticky one. */
async function check(app: App, type: string, count: number, isSticky: boolean): Promise<void> {
  const active = app.host.types().find((one) => one.type === type)?.active;
  if (active !== count) throw new Error(`${active} of ${count} actors are in memory`);
  const table = (await app.host.cluster()).tables.find((one) => one.type === type);
  const held = (table?.sticky?.holders ?? []).reduce((sum, { actors }) => sum + actors, 0);
  if (held !== (isSticky ? count : 0)) throw new Error(`the leader says that ${held} of ${count} actors are held`);
}
