// Shards with rejected calls, per connection. Later calls to the same shard may follow on the connection,
// sent before their caller received the rejection. They are rejected too, even if the shard has arrived here
// meanwhile: otherwise they would overtake the rejected call. A call that was rejected here carries its hops
// when it is sent again, which proves that its caller knows. Hops alone prove nothing: another host may have
// rejected the call. Entries disappear with the connection.

/** Rejected actors that are remembered per shard and connection. The oldest are forgotten first. */
const MOST_ACTORS = 1_000;

export class RejectedShards {
  /** Ids of actors with rejected calls, by connection, type and shard. */
  readonly #lines = new WeakMap<object, Map<string, Map<number, Set<string>>>>();
  #isEmpty = true;

  /** True: no call was ever rejected. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  add(line: object, type: string, shard: number, id: string): void {
    this.#isEmpty = false;
    const types = this.#lines.get(line) ?? new Map<string, Map<number, Set<string>>>();
    this.#lines.set(line, types);
    const shards = types.get(type) ?? new Map<number, Set<string>>();
    types.set(type, shards);
    const ids = shards.get(shard) ?? new Set();
    shards.set(shard, ids.add(id));
    if (ids.size > MOST_ACTORS) ids.delete(ids.values().next().value!);
  }

  /**
   * True: an earlier call was rejected, and the caller did not know it when it sent this one. `hops`:
   * rejections of this call, here or elsewhere.
   */
  isBehind(line: object, type: string, shard: number, { id, hops }: { id: string; hops: number }): boolean {
    const shards = this.#lines.get(line)?.get(type);
    const ids = shards?.get(shard);
    if (ids === undefined) return false;
    if (hops === 0) return true;
    if (ids.has(id)) shards!.delete(shard);
    return false;
  }
}
