// Shards and actors with rejected calls, per connection. Later calls may follow on the connection, sent
// before their caller received the rejection. They are rejected too, even if the shard has arrived here
// meanwhile: otherwise they would overtake the rejected call. A rejected call carries its hops when it is
// sent again.
//
// - A caller that computes shards orders its calls by shard. Its call with hops proves that the caller knows
//   every rejection of the shard.
// - A caller without the class orders its calls by actor. Its call with hops proves that the caller knows the
//   rejections of that actor. It proves nothing about other actors of the shard.
//
// Entries disappear with the connection.

/** Rejected actors that are remembered per shard and connection. The oldest are forgotten first. */
const MOST_ACTORS = 1_000;

interface Rejections {
  /** No call with hops has arrived since the last rejection. */
  isRecent: boolean;
  /** Ids of actors with rejected calls. */
  readonly ids: Set<string>;
}

export class RejectedShards {
  readonly #lines = new WeakMap<object, Map<string, Map<number, Rejections>>>();
  #isEmpty = true;

  /** True: no call was ever rejected. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  add(line: object, type: string, shard: number, id: string): void {
    this.#isEmpty = false;
    const types = this.#lines.get(line) ?? new Map<string, Map<number, Rejections>>();
    this.#lines.set(line, types);
    const shards = types.get(type) ?? new Map<number, Rejections>();
    types.set(type, shards);
    const rejections = shards.get(shard) ?? { isRecent: true, ids: new Set() };
    shards.set(shard, rejections);
    rejections.isRecent = true;
    const { ids } = rejections;
    ids.add(id);
    if (ids.size > MOST_ACTORS) ids.delete(ids.values().next().value!);
  }

  /**
   * True: an earlier call was rejected, and the caller did not know it when it sent this one. `hops`:
   * rejections of this call, here or elsewhere.
   */
  isBehind(line: object, type: string, shard: number, { id, hops }: { id: string; hops: number }): boolean {
    const shards = this.#lines.get(line)?.get(type);
    const rejections = shards?.get(shard);
    if (rejections === undefined) return false;
    if (hops === 0) return rejections.isRecent || rejections.ids.has(id);
    rejections.isRecent = false;
    rejections.ids.delete(id);
    if (rejections.ids.size === 0) shards!.delete(shard);
    return false;
  }
}
