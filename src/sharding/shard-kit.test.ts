// Sharded actors that count, and views of their shards, for tests of several hosts in one process.
import { Actor } from "../actors/actor.ts";
import { type ShardedOptions, sharded } from "../actors/options/sharded-options.ts";
import type { ActorClass } from "../actors/routing/remote.ts";
import type { App } from "../host/app.ts";
import { eventually, isBusy, slowed, TestApps } from "../host/cluster-kit.test.ts";
import type { ShardsView } from "../ports/shard-admin.ts";

export const SHARDS = 12;

export interface Counting extends Actor {
  add(): number;
}

/** Undefined: a class without shards. */
export function counting(options: ShardedOptions | undefined, name = "Counting"): ActorClass<Counting> {
  const placement = options && sharded({ shards: SHARDS, rebalance: "100ms", ...options });
  return class extends Actor<{ count: number }> {
    static options = { name, ...(placement === undefined ? {} : { placement }) };
    initial() {
      return { count: 0 };
    }
    add() {
      return ++this.state.count;
    }
  };
}

export const ids = Array.from({ length: 100 }, (_, i) => `id-${i}`);

const QUIET = { lease: "8s", leaderLease: "3s", roundTimeout: "4s", moveTimeout: "1s" } as const;
/** Leases long enough for a busy machine. */
const CALM = isBusy ? ({ ...QUIET, lease: "30s", leaderLease: "10s", roundTimeout: "20s" } as const) : QUIET;
export const named = (name: string) => ({ cluster: { name, ...CALM } });

/** Apps for tests of limits that no setting changes. On a busy machine their time passes slowly. */
export const slowApps = (): TestApps => new TestApps({}, isBusy ? slowed(6) : undefined);
export const slowlyNamed = (name: string) => ({ cluster: { name, ...QUIET } });

export const callAll = (app: App): Promise<unknown> =>
  Promise.all(ids.map((id) => app.actor<Counting>("Counting", id, { timeout: "30s" }).add()));

/** Retries while there is no leader. */
export async function viewOf(app: App, type = "Counting"): Promise<ShardsView> {
  let seen: ShardsView | undefined;
  await eventually(async () => {
    seen = await app
      .shards(type)
      .view()
      .catch(() => undefined);
    return seen !== undefined;
  }, "somebody leads");
  return seen!;
}

export const homesOf = ({ hosts }: ShardsView): Record<string, number> =>
  Object.fromEntries(hosts.map(({ name, shards }) => [name, shards.length]));
