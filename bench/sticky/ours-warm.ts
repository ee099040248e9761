// Limpet: calls to running actors without state, sticky ones and ones placed by the hash of their id, in turn.
import { join } from "node:path";
import type { App } from "../../src/index.ts";
import type { Make, Params, Running, Settings } from "../case.ts";
import { eachOnce, type Pinger, pingOneByOne } from "../load.ts";
import { answered, HashPinger, openHost, StickyPinger, settled, startOtherHost } from "./actors.ts";
import { CALL_RATIO, HASH_CALLS, STICKY_CALLS } from "./figures.ts";
import { compareInTurn } from "./in-turn.ts";

/** One of the two is measured for this long, or for so many calls, before it is the other's turn. */
const TURN = { ms: 10, calls: 4_096 } as const;
/** Both share the warm-up. */
const WARM_UPS = 2;

interface Both {
  readonly sticky: readonly Pinger[];
  readonly hash: readonly Pinger[];
}

async function compare({ sticky, hash }: Both, params: Params, ms: number) {
  const measure = (targets: readonly Pinger[]) => () => rateOf(targets, Number(params.inFlight));
  const { one, other, ratio } = await compareInTurn(ms, measure(sticky), measure(hash));
  return { [STICKY_CALLS]: one, [HASH_CALLS]: other, [CALL_RATIO]: ratio };
}

function rateOf(targets: readonly Pinger[], inFlight: number): Promise<number> {
  if (inFlight === 1) return pingOneByOne(targets[0]!, TURN.ms);
  return eachOnce(TURN.calls, inFlight, async (call) => {
    const answer = await targets[call % targets.length]!.ping(call);
    if (answer !== call + 1) throw new Error(`the answer to ${call} was ${answer}`);
  });
}

/** As many ids as asked for, of those that live where they should. */
async function idsOf(app: App, type: string, count: number, here: boolean): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; ids.length < count; i++) {
    const where = await app.host.where(type, `pinger-${i}`);
    if (where.here === here) ids.push(`pinger-${i}`);
  }
  return ids;
}

async function measured(app: App, here: boolean, settings: Settings): Promise<Omit<Running, "close">> {
  const { params, warmupMs, durationMs } = settings;
  const count = Number(params.actors);
  const both = {
    sticky: (await idsOf(app, StickyPinger.name, count, here)).map((id) => app.actor(StickyPinger, id)),
    hash: (await idsOf(app, HashPinger.name, count, here)).map((id) => app.actor(HashPinger, id)),
  };
  await compare(both, params, WARM_UPS * warmupMs);
  const held = await app.host.sticky({ type: StickyPinger.name, limit: count + 1 });
  if (held.actors.length !== count) throw new Error(`${held.actors.length} of ${count} actors are held as sticky ones`);
  return { run: () => compare(both, params, durationMs) };
}

/** In the process of the caller, which is a cluster of one. */
export const local: Make = async (settings) => {
  const app = await openHost({ store: join(settings.folder, "ours.db") });
  const { run } = await measured(app, true, settings);
  return { run, close: () => app.stop() };
};

/** In another process. */
export const remote: Make = async (settings) => {
  const store = settings.postgres;
  const app = await openHost({ store });
  const other = await startOtherHost({ store });
  await settled(app, 2);
  const { run } = await measured(app, false, settings);
  return {
    async run() {
      const rates = await run();
      if (answered.pings > 0) throw new Error(`${answered.pings} calls were answered where they were made`);
      return rates;
    },
    async close() {
      await other.end("SIGTERM");
      await app.stop();
    },
  };
};
