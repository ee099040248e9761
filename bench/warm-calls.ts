// Compares calls to running actors with two kinds of placement in one process: the cost of finding a present
// actor.
import { join } from "node:path";
import type { App } from "../src/index.ts";
import type { BenchCase, Figure, Make, Running, Settings } from "./case.ts";
import type { OtherProcess } from "./cluster/other-process.ts";
import { type Compared, compareInTurn } from "./in-turn.ts";
import { eachOnce, type Pinger, pingOneByOne } from "./load.ts";

/** One of the two is measured for this long, or for so many calls, before it is the other's turn. */
const TURN = { ms: 10, calls: 4_096 } as const;

function compareCalls(
  one: readonly Pinger[],
  other: readonly Pinger[],
  inFlight: number,
  ms: number,
): Promise<Compared> {
  return compareInTurn(
    ms,
    () => rateOf(one, inFlight),
    () => rateOf(other, inFlight),
  );
}

function rateOf(targets: readonly Pinger[], inFlight: number): Promise<number> {
  if (inFlight === 1) return pingOneByOne(targets[0]!, TURN.ms);
  return eachOnce(TURN.calls, inFlight, async (call) => {
    const answer = await targets[call % targets.length]!.ping(call);
    if (answer !== call + 1) throw new Error(`the answer to ${call} was ${answer}`);
  });
}

/**
 * The requested number of ids that are at the right place. `touch` activates an actor that has no place
 * before.
 */
export async function idsOf(
  app: App,
  type: string,
  count: number,
  here: boolean,
  touch: (id: string) => Promise<unknown> = async () => {},
): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; ids.length < count; i++) {
    const id = `pinger-${i}`;
    await touch(id);
    const where = await app.host.where(type, id);
    if (where.here === here) ids.push(id);
  }
  return ids;
}

/** Requirements for the actors of an area. */
export interface WarmArea {
  /** Pings that were answered in this process. */
  readonly answered: { pings: number };
  openHost(options: { readonly store: string }): Promise<App>;
  startOtherHost(options: { readonly store: string }): Promise<OtherProcess>;
  /** So many hosts are present, and nothing moves. */
  settled(app: App, hosts: number): Promise<void>;
  /** Running targets here, or elsewhere: the compared ones, and those placed by hash. */
  targets(app: App, count: number, here: boolean): Promise<readonly [readonly Pinger[], readonly Pinger[]]>;
  /** Throws if they are wrong after the warm-up. */
  check?(app: App, count: number): Promise<void>;
  /** Names of the rate of the compared ones, of the rate of the others, and of their ratio. */
  readonly figures: readonly [one: string, other: string, ratio: string];
}

/** Both share the warm-up. */
const WARM_UPS = 2;

/** Calls in the process of the caller, which is a cluster of one; and calls to another process. */
export function warmCalls(area: WarmArea): { readonly local: Make; readonly remote: Make } {
  async function measured(app: App, here: boolean, settings: Settings): Promise<Running["run"]> {
    const { params, warmupMs, durationMs } = settings;
    const count = Number(params.actors);
    const [one, other] = await area.targets(app, count, here);
    const compare = (ms: number) => compareCalls(one, other, Number(params.inFlight), ms);
    await compare(WARM_UPS * warmupMs);
    await area.check?.(app, count);
    area.answered.pings = 0;
    return async () => {
      const compared = await compare(durationMs);
      const [ones, others, ratio] = area.figures;
      return { [ones]: compared.one, [others]: compared.other, [ratio]: compared.ratio };
    };
  }
  return {
    async local(settings) {
      const app = await area.openHost({ store: join(settings.folder, "ours.db") });
      return { run: await measured(app, true, settings), close: () => app.stop() };
    },
    async remote(settings) {
      const store = settings.postgres;
      const app = await area.openHost({ store });
      const other = await area.startOtherHost({ store });
      await area.settled(app, 2);
      const run = await measured(app, false, settings);
      return {
        async run() {
          const rates = await run();
          const { pings } = area.answered;
          if (pings > 0) throw new Error(`${pings} calls were answered where they were made`);
          return rates;
        },
        async close() {
          await other.end("SIGTERM");
          await app.stop();
        },
      };
    },
  };
}

const CALLS: Figure = { unit: "calls/s", better: "higher" };

/** `module` exports the result of `warmCalls`. */
export function warmCases(module: string, [one, other, ratio]: WarmArea["figures"]): BenchCase[] {
  const warm = (where: "local" | "remote", inFlight: number): BenchCase => {
    const what = where === "local" ? "call in the same process" : "call to another host";
    return {
      name: inFlight === 1 ? `${what}, one at a time` : `${what}, ${inFlight} in flight`,
      figures: {
        [one]: CALLS,
        [other]: CALLS,
        [ratio]: { unit: "× hash", better: "higher", goals: { ours: 0.95 } },
      },
      ours: {
        module,
        make: where,
        params: { actors: inFlight === 1 ? 1 : 1_000, inFlight },
        postgres: where === "remote",
      },
    };
  };
  return [warm("local", 1), warm("local", 256), warm("remote", 1), warm("remote", 256)];
}
