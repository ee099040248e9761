// The hosts that may be homes of the shards of one type, and the homes that have to hand over their shards.
// No host is both. Pure.
import type { ShardHostInfo } from "../../kernel/shard-strategy.ts";
import { leastShards } from "./least-shards.ts";
import type { ShardHost } from "./shard-effects.ts";
import type { ShardStates } from "./shard-states.ts";

const LEAST = leastShards();

export class PossibleHomes {
  #hosts = new Map<string, ShardHost>();
  readonly #leaving = new Set<string>();

  get size(): number {
    return this.#hosts.size;
  }

  has(incarnation: string): boolean {
    return this.#hosts.has(incarnation);
  }

  get(incarnation: string): ShardHost | undefined {
    return this.#hosts.get(incarnation);
  }

  /** Homes that have to hand over all their shards. */
  get leaving(): ReadonlySet<string> {
    return this.#leaving;
  }

  /** A host that is not among them any more leaves, and so does one in `leaving`. */
  replace(hosts: readonly ShardHost[], leaving: Iterable<string>): void {
    const before = this.#hosts;
    this.#hosts = new Map(hosts.map((host) => [host.incarnation, host]));
    for (const incarnation of this.#hosts.keys()) this.#leaving.delete(incarnation);
    for (const incarnation of before.keys()) if (!this.#hosts.has(incarnation)) this.#leaving.add(incarnation);
    for (const incarnation of leaving) if (!this.#hosts.has(incarnation)) this.#leaving.add(incarnation);
  }

  remove(incarnation: string): void {
    this.#hosts.delete(incarnation);
    this.#leaving.delete(incarnation);
  }

  /** Of the hosts that leave, only these still have shards. The others never become homes again. */
  stillHomes(homes: ReadonlySet<string>): void {
    for (const host of this.#leaving) if (!homes.has(host)) this.#leaving.delete(host);
  }

  /** The regions as strategies see them: a shard that moves counts at its new home. */
  regions({ homes, busy }: ShardStates): ShardHostInfo[] {
    const byHost = new Map([...this.#hosts.keys()].map((incarnation) => [incarnation, [] as number[]]));
    for (const [shard, host] of homes) byHost.get(busy.get(shard)?.to ?? host)?.push(shard);
    for (const [shard, { to }] of busy) if (to !== undefined && !homes.has(shard)) byHost.get(to)?.push(shard);
    return [...this.#hosts.values()].map(({ incarnation, address, name, build }) => {
      return { incarnation, address, name, build, shards: byHost.get(incarnation)! };
    });
  }

  /** The host with the fewest shards, for a shard without an answer of the strategy. */
  emptiest(states: ShardStates): string {
    return LEAST.home(0, this.regions(states), undefined);
  }
}
