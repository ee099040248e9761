// Shards within one process: apps that share a MemoryStore share them. Each step runs to completion without
// interruption, so all steps are atomic.
import type { Member } from "../../ports/store/coordination.ts";
import type {
  RememberedChange,
  ShardHomeChange,
  ShardHomeRow,
  ShardKey,
  ShardRule,
  Shards,
} from "../../ports/store/shards.ts";
import { isHosted } from "../shard-changes.ts";
import { byCodePoint } from "./code-points.ts";
import { IdOrder } from "./id-order.ts";

/** The rows of one type. */
class Kept {
  rule: ShardRule | undefined;
  readonly homes = new Map<number, string>();
  readonly remembered = new Map<number, IdOrder>();
}

export class MemoryShards implements Shards {
  /** Namespace, then type: words are never joined. */
  readonly #namespaces = new Map<string, Map<string, Kept>>();
  readonly #term: () => number;
  readonly #members: () => Iterable<Member>;
  readonly #checkOpen: () => void;

  /**
   * `term` and `members` return the current state of coordination; `checkOpen` throws once the store is
   * closed.
   */
  constructor(term: () => number, members: () => Iterable<Member>, checkOpen: () => void) {
    this.#term = term;
    this.#members = members;
    this.#checkOpen = checkOpen;
  }

  async settle({ namespace, type, shards, version }: ShardRule): Promise<ShardRule> {
    this.#checkOpen();
    const kept = this.#kept({ namespace, type });
    kept.rule ??= { namespace, type, shards, version };
    return kept.rule;
  }

  async reset(namespace: string, type: string, ended: readonly string[] = []): Promise<boolean> {
    this.#checkOpen();
    if (isHosted(this.#members(), namespace, type, ended)) return false;
    const types = this.#namespaces.get(namespace);
    types?.delete(type);
    if (types?.size === 0) this.#namespaces.delete(namespace);
    return true;
  }

  async homes(): Promise<ShardHomeRow[]> {
    this.#checkOpen();
    const rows: ShardHomeRow[] = [];
    for (const [namespace, types] of inOrder(this.#namespaces)) {
      for (const [type, { homes }] of inOrder(types)) {
        const shards = [...homes].sort(([a], [b]) => a - b);
        for (const [shard, incarnation] of shards) rows.push({ namespace, type, shard, incarnation });
      }
    }
    return rows;
  }

  async noteHomes(term: number, changes: readonly ShardHomeChange[]): Promise<boolean> {
    this.#checkOpen();
    if (term !== this.#term()) return false;
    for (const change of changes) {
      const { homes } = this.#kept(change);
      if (change.incarnation === undefined) homes.delete(change.shard);
      else homes.set(change.shard, change.incarnation);
    }
    return true;
  }

  async remember(home: string | undefined, changes: readonly RememberedChange[]): Promise<boolean[]> {
    this.#checkOpen();
    return changes.map((change) => {
      const { remembered, homes } = this.#kept(change);
      if (home !== undefined && homes.get(change.shard) !== home) return false;
      const ids = remembered.get(change.shard) ?? new IdOrder();
      if (change.isKept) ids.add(change.id);
      else ids.remove(change.id);
      if (ids.isEmpty) remembered.delete(change.shard);
      else remembered.set(change.shard, ids);
      return true;
    });
  }

  async remembered({ namespace, type, shard }: ShardKey, after: string | undefined, limit: number): Promise<string[]> {
    this.#checkOpen();
    const ids = this.#namespaces.get(namespace)?.get(type)?.remembered.get(shard);
    return ids?.behind(after, limit) ?? [];
  }

  async rememberedShards(namespace: string, type: string): Promise<number[]> {
    this.#checkOpen();
    const remembered = this.#namespaces.get(namespace)?.get(type)?.remembered;
    return [...(remembered?.keys() ?? [])].sort((a, b) => a - b);
  }

  #kept({ namespace, type }: Omit<ShardKey, "shard">): Kept {
    const types = this.#namespaces.get(namespace) ?? new Map<string, Kept>();
    const kept = types.get(type) ?? new Kept();
    this.#namespaces.set(namespace, types.set(type, kept));
    return kept;
  }
}

const inOrder = <T>(byName: ReadonlyMap<string, T>): [string, T][] => [...byName].sort(([a], [b]) => byCodePoint(a, b));
