// Activations of a sharded type, indexed by shard: when one of many shards moves, the host need not search
// all actors.
import type { ActorsByShard } from "../../ports/actor-host.ts";
import type { Activation } from "../activation/activation.ts";

/**
 * Bucket of activations for which the application's `shardOf` fails now. They leave together with the first
 * shard that leaves.
 */
const UNKNOWN_SHARD = -1;

export class ByShard implements ActorsByShard {
  readonly #shardOf: (id: string) => number;
  readonly #shards = new Map<number, Set<Activation>>();

  constructor(shardOf: (id: string) => number) {
    this.#shardOf = shardOf;
  }

  add(activation: Activation): void {
    const shard = this.#of(activation.id);
    const set = this.#shards.get(shard) ?? new Set();
    if (set.size === 0) this.#shards.set(shard, set);
    set.add(activation);
  }

  delete(activation: Activation): void {
    if (this.#take(this.#of(activation.id), activation)) return;
    // A `shardOf` that has changed its result returns another shard than the one the activation is stored
    // under.
    for (const shard of this.#shards.keys()) if (this.#take(shard, activation)) return;
  }

  #take(shard: number, activation: Activation): boolean {
    const set = this.#shards.get(shard);
    if (!set?.delete(activation)) return false;
    if (set.size === 0) this.#shards.delete(shard);
    return true;
  }

  #of(id: string): number {
    try {
      return this.#shardOf(id);
    } catch {
      return UNKNOWN_SHARD;
    }
  }

  /** Activations that must leave this host together with the shard. */
  leavingWith(shard: number): Activation[] {
    return [...(this.#shards.get(shard) ?? []), ...(this.#shards.get(UNKNOWN_SHARD) ?? [])];
  }

  size(shard: number): number {
    return this.#shards.get(shard)?.size ?? 0;
  }
}
