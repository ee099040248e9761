// The durable state of shards: the shard function of a type, the home of each shard, and the remembered
// actors. One contract suite (stores/shards.contract.ts) covers every implementation.
//
// - The first host of a type settles its shard function. A host with a different function gets the settled
//   one and cannot join: two hosts with different functions would run one actor twice.
// - Only the leader of the current term writes homes; a write of an older term changes nothing. Homes survive
//   leader changes: the next leader knows at least every announced home.
// - Remembered actors are a set for each shard. Only its home changes the set; a late write of an earlier
//   home changes nothing. Otherwise it could remove an actor that the next home has acknowledged, or restore
//   one that was forgotten.

/** The shard function of a type. */
export interface ShardRule {
  readonly namespace: string;
  readonly type: string;
  readonly shards: number;
  /** Changes whenever the same id may map to another shard. */
  readonly version: string;
}

export interface ShardKey {
  readonly namespace: string;
  readonly type: string;
  readonly shard: number;
}

export interface ShardHomeRow extends ShardKey {
  /** The host that is its home. */
  readonly incarnation: string;
}

export interface ShardHomeChange extends ShardKey {
  /** Undefined: it has none. */
  readonly incarnation: string | undefined;
}

export interface RememberedChange extends ShardKey {
  readonly id: string;
  /** False: it is forgotten. */
  readonly isKept: boolean;
}

/**
 * Rejections are STORE_UNAVAILABLE, or COMMIT_UNKNOWN of a reset; whether the step was executed is then
 * unknown, and every step may be repeated.
 */
export interface Shards {
  /** Returns the settled rule: this one, if there was none. */
  settle(rule: ShardRule): Promise<ShardRule>;
  /**
   * Deletes the rule, homes and remembered actors of a type, so that it can be settled again. False: a member
   * hosts the type, other than the incarnations in `ended`, whose processes have ended. The reset takes
   * several steps, because there may be much to delete; each step checks the members and deletes in one
   * transaction. The last step deletes the homes and the rule. A reset that failed, or returned false because
   * a host joined meanwhile, may have deleted remembered actors.
   */
  reset(namespace: string, type: string, ended?: readonly string[]): Promise<boolean>;
  /** Homes of all types, in order of namespace, type and shard. */
  homes(): Promise<ShardHomeRow[]>;
  /**
   * Writes at most LIMITS.shardChanges homes in one atomic step, as if applied one after another. False:
   * `term` is over, and nothing was changed. The order of two concurrent writes is undefined.
   */
  noteHomes(term: number, changes: readonly ShardHomeChange[]): Promise<boolean>;
  /**
   * Writes at most LIMITS.shardChanges changes in one atomic step, as if applied one after another. Returns
   * for each whether it was made: false, if `home` is not the home of its shard. Undefined `home`: a process
   * without a cluster, whose shards have no homes; no check is made.
   */
  remember(home: string | undefined, changes: readonly RememberedChange[]): Promise<boolean[]>;
  /** Ids of a shard behind `after`, by code point, `limit` at most. */
  remembered(shard: ShardKey, after: string | undefined, limit: number): Promise<string[]>;
  /**
   * Shards of a type with remembered actors, in order. The cost depends on the number of such shards, not on
   * their actors.
   */
  rememberedShards(namespace: string, type: string): Promise<number[]>;
}
