// Shards with rejected calls, per connection. Later calls to the same shard may follow on the connection,
// sent before their caller received the rejection. They are rejected too, even if the shard has arrived here
// meanwhile: otherwise they would overtake the rejected call. A rejected call carries its hops when it is
// sent again, which proves that its caller knows. Entries disappear with the connection, and never exceed the
// number of shards.

export class RejectedShards {
  readonly #lines = new WeakMap<object, Map<string, Set<number>>>();
  #isEmpty = true;

  /** True: no call was ever rejected. */
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

  /**
   * True: an earlier call was rejected, and the caller did not know it when it sent this one. `hops`:
   * rejections of this call.
   */
  isBehind(line: object, type: string, shard: number, hops: number): boolean {
    const shards = this.#lines.get(line)?.get(type);
    if (shards === undefined) return false;
    if (hops === 0) return shards.has(shard);
    shards.delete(shard);
    return false;
  }
}
