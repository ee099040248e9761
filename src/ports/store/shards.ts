// What is durable about shards: how many a type has, where each lives, and which of its actors are to be brought back to life.
// One contract suite (stores/shards.contract.ts) says what every implementation must do.
//
// - How ids become shards is settled by the first host that says it. A host that says something else is told what is settled, and cannot
//   join: two hosts that map ids to shards in different ways would run one actor in two places.
// - Homes are written by the leader of the current term alone; a write of an older term changes nothing. They outlive leaders: the next
//   one knows at least what anybody was told.
// - Remembered actors are a set for each shard, which its home changes, and nobody else: what a home before says late changes nothing. Else
//   it could take out an actor that the home after it was told is remembered, or bring back one that was forgotten.

/** How ids of a type become shards. */
export interface ShardRule {
  readonly namespace: string;
  readonly type: string;
  readonly shards: number;
  /** Changes whenever the same id may lead to another shard. */
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

/** Rejections are STORE_UNAVAILABLE, or COMMIT_UNKNOWN of a reset; whether the step was taken is then unknown, and all may be repeated. */
export interface Shards {
  /** Gives the rule that is settled: this one, if there was none. */
  settle(rule: ShardRule): Promise<ShardRule>;
  /**
   * Forgets the rule, homes and remembered actors of a type, so that it can be settled anew. False: a member hosts the type, other than
   * those in `ended`, which are incarnations of processes that have ended. There may be a lot to forget, so it takes several steps, and each
   * of them checks the members and forgets in one transaction. The last step forgets the homes and the rule. A reset that failed, or
   * answered false because a host joined meanwhile, may have forgotten remembered actors.
   */
  reset(namespace: string, type: string, ended?: readonly string[]): Promise<boolean>;
  /** Of all types, in order of namespace, type and shard. */
  homes(): Promise<ShardHomeRow[]>;
  /**
   * At most LIMITS.shardChanges of them, in one atomic step, as if each followed the one before it. False: `term` is over, and nothing was
   * changed. Which of two goes first that are under way at once is not said.
   */
  noteHomes(term: number, changes: readonly ShardHomeChange[]): Promise<boolean>;
  /**
   * At most LIMITS.shardChanges of them, in one atomic step, as if each followed the one before it. Answers for each whether it was made:
   * false, if `home` is not the home of its shard. Undefined: a process that is alone, and whose shards have no homes; it is not asked.
   */
  remember(home: string | undefined, changes: readonly RememberedChange[]): Promise<boolean[]>;
  /** Ids of a shard behind `after`, by code point, `limit` at most. */
  remembered(shard: ShardKey, after: string | undefined, limit: number): Promise<string[]>;
  /** Shards of a type in which actors are remembered, in order. Costs as much as there are such shards, however many actors are in them. */
  rememberedShards(namespace: string, type: string): Promise<number[]>;
}
