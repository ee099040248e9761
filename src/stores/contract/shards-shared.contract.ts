// Shared parts of the shards contract: opening a store, beginning a term, and helpers for changes.
import assert from "node:assert/strict";
import type {
  RememberedChange,
  ShardHomeChange,
  ShardHomeRow,
  ShardKey,
  ShardRule,
  Shards,
} from "../../ports/store/shards.ts";
import type { Store } from "../../ports/store/store.ts";
import { newDedicated } from "./coordination-shared.contract.ts";
import { freshNamespace } from "./shared.contract.ts";

export interface OpenedShards {
  readonly store: Store;
  /** Another store object on the same data, as another process would have it. The suite closes it. */
  readonly second?: () => Promise<Store>;
  /** Opens the same data again after `store` was closed. The suite closes it. */
  readonly reopen?: () => Promise<Store>;
  /** Closes everything that is still open and removes all created data. */
  readonly dispose: () => Promise<void>;
}

export interface ShardsOptions {
  /** Random runs of the model test; fewer where a round trip is slow. */
  readonly modelRuns?: number;
}

export interface ShardsHarness {
  readonly open: () => Promise<OpenedShards>;
  readonly opened: () => OpenedShards;
}

/** Valid names with characters that a layer below might interpret. In no order. */
export const ODD_NAMES = [
  ...["b", "a", "ab", "a b", "B", "ĉàrt", "\u{1f41a}", "\uff5e", "\uffff", "\u{10ffff}", "e\u0301", "\u00e9"],
  ...[
    "NULL",
    "{}",
    "{a,b}",
    '"',
    "'",
    "''; --",
    "%",
    "_",
    "a%b_c",
    "$1",
    "0",
    "-1",
    "1e3",
    " ",
    "a ",
    "|",
    ",",
    "\u00a0",
  ],
];

/** By code point. */
export const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** A term that is current until another one begins. It has no leader, so it does not block the next. */
export async function newTerm({ coordination }: Store): Promise<number> {
  const candidate = newDedicated();
  const { term, leading } = await coordination.campaign(candidate);
  assert.ok(leading, "the candidate leads");
  await coordination.resign(candidate.incarnation);
  return term;
}

/** An unused namespace, and the shards in it. */
export class Ground {
  readonly namespace: string;
  readonly store: Store;
  readonly shards: Shards;

  constructor(store: Store, namespace = freshNamespace()) {
    this.store = store;
    this.shards = store.shards;
    this.namespace = namespace;
  }

  /** The same in another process. */
  at(store: Store | undefined): Ground {
    return new Ground(store ?? this.store, this.namespace);
  }

  rule(shards = 10, version = "1", type = "Cart"): ShardRule {
    return { namespace: this.namespace, type, shards, version };
  }

  shard(shard = 0, type = "Cart"): ShardKey {
    return { namespace: this.namespace, type, shard };
  }

  home(shard: number, incarnation: string | undefined, type = "Cart"): ShardHomeChange {
    return { ...this.shard(shard, type), incarnation };
  }

  keep(id: string, shard = 0, type = "Cart"): RememberedChange {
    return { ...this.shard(shard, type), id, isKept: true };
  }

  forget(id: string, shard = 0, type = "Cart"): RememberedChange {
    return { ...this.shard(shard, type), id, isKept: false };
  }

  /** The homes of this namespace, in the order of the store. */
  async homes(): Promise<ShardHomeRow[]> {
    return (await this.shards.homes()).filter(({ namespace }) => namespace === this.namespace);
  }

  /** Writes with a term that has just begun. */
  async note(...changes: ShardHomeChange[]): Promise<void> {
    assert.equal(await this.shards.noteHomes(await newTerm(this.store), changes), true);
  }

  /** Writes like a process without a cluster. */
  async remember(...changes: RememberedChange[]): Promise<void> {
    assert.deepEqual(
      await this.shards.remember(undefined, changes),
      changes.map(() => true),
    );
  }

  /** All remembered actors of a shard, read in pages of `limit`. */
  async ids(shard = 0, type = "Cart", limit = 1_000): Promise<string[]> {
    const all: string[] = [];
    for (;;) {
      const page = await this.shards.remembered(this.shard(shard, type), all.at(-1), limit);
      assert.ok(page.length <= limit);
      all.push(...page);
      if (page.length < limit) return all;
    }
  }
}

/** Another store on the same data, closed afterwards; `undefined` where there can be none. */
export async function withSecond(
  { opened }: ShardsHarness,
  work: (second: Store | undefined) => Promise<void>,
): Promise<void> {
  const second = await opened().second?.();
  try {
    await work(second);
  } finally {
    await second?.close();
  }
}
