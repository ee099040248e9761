// Limpet: effect on callers when a third host joins two that have very many actors in their shards. Some of
// the actors are called again and again from this process, which is one of the hosts, never twice at once.
// The figure is the longest wait of a call, actor by actor.
import type { App } from "../../src/index.ts";
import { openPostgresStore } from "../../src/stores/postgres/postgres-store.ts";
import type { Make } from "../case.ts";
import type { OtherProcess } from "../cluster/other-process.ts";
import { eachOnce } from "../load.ts";
import { quantile } from "../report/latencies.ts";
import { pause, until } from "../until.ts";
import { openHost, ShardedKeeper, settled, startOtherHost } from "./actors.ts";
import { FAILED_CALLS, STALL_OF_MOVED, STALL_OF_OTHERS, UNTIL_BALANCED } from "./figures.ts";

const IN_FLIGHT = 512;
const CALM_MS = 2_000;
const LOOK_MS = 50;
const LIMIT_MS = 180_000;

export const scaleOut: Make = async ({ postgres, params }) => {
  const host = { store: postgres };
  const app = await openHost(host);
  const others: OtherProcess[] = [await startOtherHost(host)];
  const store = await openPostgresStore(postgres);
  /** Number of shards of each host. */
  const shares = async (): Promise<number[]> => {
    const rows = (await store.shards.homes()).filter(({ type }) => type === ShardedKeeper.name);
    return [...Map.groupBy(rows, ({ incarnation }) => incarnation).values()].map(({ length }) => length);
  };
  const isBalanced = async (hosts: number): Promise<boolean> => {
    const counts = await shares();
    return counts.length === hosts && Math.max(...counts) - Math.min(...counts) <= 1;
  };
  await settled(app, 2);
  const ids = Array.from({ length: Number(params.actors) }, (_, i) => `keeper-${i}`);
  await eachOnce(ids.length, IN_FLIGHT, (i) => app.actor(ShardedKeeper, ids[i]!).ping(i));
  await until("two hosts with as many shards each", () => isBalanced(2), LIMIT_MS);

  return {
    async run() {
      const step = Math.floor(ids.length / Number(params.watched));
      const watch = new Watch(
        app,
        ids.filter((_, i) => i % step === 0),
      );
      const stop = watch.begin(Number(params.everyMs));
      await pause(CALM_MS);
      const before = await watch.owners();
      watch.forget();
      const moving = firstMove(shares);
      others.push(await startOtherHost(host));
      const startedAt = await moving;
      await until("three hosts with as many shards each", () => isBalanced(3), LIMIT_MS);
      const tookMs = performance.now() - startedAt;
      await pause(CALM_MS);
      const after = await watch.owners();
      await stop();
      if (watch.failures > 0) process.stderr.write(`    the first call that failed: ${watch.firstFailure}\n`);
      const moved = before.map((owner, i) => owner !== after[i]);
      return {
        [UNTIL_BALANCED]: tookMs,
        [STALL_OF_MOVED]: quantile(
          watch.longest.filter((_, i) => moved[i]!),
          0.99,
        ),
        [STALL_OF_OTHERS]: quantile(
          watch.longest.filter((_, i) => !moved[i]!),
          0.99,
        ),
        [FAILED_CALLS]: watch.failures,
      };
    },
    async close() {
      await Promise.all(others.map((other) => other.end("SIGKILL")));
      await store.close();
      await app.stop();
    },
  };
};

/** Time of the first change of homes. */
async function firstMove(shares: () => Promise<number[]>): Promise<number> {
  const start = performance.now();
  let last = start;
  while ((await shares()).length < 3) {
    last = performance.now();
    if (last - start > LIMIT_MS) throw new Error("no shard moves");
    await pause(LOOK_MS);
  }
  return last;
}

class Watch {
  readonly #app: App;
  readonly #ids: readonly string[];
  /** Longest wait of a call. */
  readonly longest: Float64Array;
  failures = 0;
  firstFailure: unknown;

  constructor(app: App, ids: readonly string[]) {
    this.#app = app;
    this.#ids = ids;
    this.longest = new Float64Array(ids.length);
  }

  /** Each actor's calls begin at a different moment, so that they do not come all at once. */
  begin(everyMs: number): () => Promise<void> {
    let isOver = false;
    const loop = async (i: number): Promise<void> => {
      const target = this.#app.actor(ShardedKeeper, this.#ids[i]!);
      await pause((everyMs * i) / this.#ids.length);
      while (!isOver) {
        const sent = performance.now();
        try {
          if ((await target.ping(i)) !== i + 1) throw new Error("a wrong answer");
          this.longest[i] = Math.max(this.longest[i]!, performance.now() - sent);
        } catch (error) {
          this.failures++;
          this.firstFailure ??= error;
        }
        await pause(Math.max(everyMs - (performance.now() - sent), 1));
      }
    };
    const loops = this.#ids.map((_, i) => loop(i));
    return async () => {
      isOver = true;
      await Promise.all(loops);
    };
  }

  owners(): Promise<readonly unknown[]> {
    return Promise.all(this.#ids.map(async (id) => (await this.#app.host.where(ShardedKeeper.name, id)).owner));
  }

  /** Drops earlier measurements. */
  forget(): void {
    this.longest.fill(0);
    this.failures = 0;
  }
}
