// Of which shards calls were sent back, by the line that they came over. Behind such a call there may be others to the same shard on the
// line, made before their caller heard of it. They go back as well, also if the shard has come here meanwhile: else they would
// overtake the one that was sent back. A call that was sent back before says so by its hops: then its caller has heard of it.
// What is kept is gone with the line, and never more than there are shards.

export class RejectedShards {
  readonly #lines = new WeakMap<object, Map<string, Set<number>>>();
  #isEmpty = true;

  /** Nothing ever was. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  add(line: object, type: string, shard: number): void {
    this.#isEmpty = false;
    const types = this.#lines.get(line) ?? new Map<string, Set<number>>();
    this.#lines.set(line, types);
    const shards = types.get(type) ?? new Set();
    types.set(type, shards.add(shard));
  }

  /** One before it went back, and its caller did not know when it made this one. `hops`: how often this one was sent back itself. */
  isBehind(line: object, type: string, shard: number, hops: number): boolean {
    const shards = this.#lines.get(line)?.get(type);
    if (shards === undefined) return false;
    if (hops === 0) return shards.has(shard);
    shards.delete(shard);
    return false;
  }
}
