// Who of a sharded type is in memory, shard by shard: when one of very many shards moves, nobody has to look at all actors.
import type { Activation } from "../activation/activation.ts";

/** Of actors whose shard the application's own rule could not say, although they were found by it. They leave with whichever leaves first. */
const NOBODY_KNOWS = -1;

export class ByShard {
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
    // A rule that has changed its mind says another shard than the one it was in.
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
      return NOBODY_KNOWS;
    }
  }

  /** Those that must not be here any more when the shard is not. */
  leavingWith(shard: number): Activation[] {
    return [...(this.#shards.get(shard) ?? []), ...(this.#shards.get(NOBODY_KNOWS) ?? [])];
  }

  size(shard: number): number {
    return this.#shards.get(shard)?.size ?? 0;
  }
}
