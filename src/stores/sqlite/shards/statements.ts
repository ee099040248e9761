// Shards in the file: rules, homes, remembered actors. Every writing method runs inside a write transaction
// of the caller, and may run again after a rollback. All rows are found by their keys.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { RememberedChange, ShardHomeChange, ShardKey, ShardRule } from "../../../ports/store/shards.ts";
import { rowsAsArrays } from "../rows-as-arrays.ts";
import type { TypeHomes } from "./messages.ts";

/** `isDone`: all rows of the type are deleted. */
interface Reset {
  readonly forgotten: number;
  readonly isDone: boolean;
}

export class ShardStatements {
  readonly #rule: StatementSync;
  readonly #settle: StatementSync;
  readonly #dropRule: StatementSync;
  readonly #types: StatementSync;
  readonly #homes: StatementSync;
  readonly #saveHome: StatementSync;
  readonly #dropHome: StatementSync;
  readonly #dropHomes: StatementSync;
  readonly #keep: StatementSync;
  readonly #forget: StatementSync;
  readonly #home: StatementSync;
  readonly #remembered: StatementSync;
  readonly #nextShard: StatementSync;
  readonly #place: StatementSync;
  readonly #forgetTo: StatementSync;
  readonly #forgetAll: StatementSync;

  constructor(db: DatabaseSync) {
    const asArrays = rowsAsArrays(db);
    this.#rule = asArrays("SELECT shards, version FROM shard_rules WHERE namespace = ? AND type = ?");
    this.#settle = db.prepare("INSERT INTO shard_rules (namespace, type, shards, version) VALUES (?, ?, ?, ?)");
    this.#dropRule = db.prepare("DELETE FROM shard_rules WHERE namespace = ? AND type = ?");

    // These two read all rows, once for each term, in the order of the tree. Words that are the same for a
    // whole type are read once.
    this.#types = asArrays("SELECT DISTINCT namespace, type FROM shard_homes ORDER BY namespace, type");
    this.#homes = asArrays(
      "SELECT shard, incarnation FROM shard_homes WHERE namespace = ? AND type = ? ORDER BY shard",
    );
    this.#saveHome = db.prepare(
      "INSERT OR REPLACE INTO shard_homes (namespace, type, shard, incarnation) VALUES (?, ?, ?, ?)",
    );
    this.#dropHome = db.prepare("DELETE FROM shard_homes WHERE namespace = ? AND type = ? AND shard = ?");
    this.#dropHomes = db.prepare("DELETE FROM shard_homes WHERE namespace = ? AND type = ?");

    this.#keep = db.prepare("INSERT OR IGNORE INTO remembered_actors (namespace, type, shard, id) VALUES (?, ?, ?, ?)");
    this.#forget = db.prepare(
      "DELETE FROM remembered_actors WHERE namespace = ? AND type = ? AND shard = ? AND id = ?",
    );
    this.#home = asArrays("SELECT incarnation FROM shard_homes WHERE namespace = ? AND type = ? AND shard = ?");
    // A page is one range of the tree, read in its order. No id is empty, so all ids are behind the empty
    // text.
    this.#remembered = asArrays(
      `SELECT id FROM remembered_actors WHERE namespace = ? AND type = ? AND shard = ? AND id > ? ORDER BY id LIMIT ?`,
    );
    this.#nextShard = asArrays(
      "SELECT shard FROM remembered_actors WHERE namespace = ? AND type = ? AND shard > ? ORDER BY shard LIMIT 1",
    );
    this.#place = asArrays(
      `SELECT shard, id FROM remembered_actors WHERE namespace = ? AND type = ? ORDER BY shard, id LIMIT 1 OFFSET ?`,
    );
    this.#forgetTo = db.prepare(
      "DELETE FROM remembered_actors WHERE namespace = ? AND type = ? AND (shard, id) <= (?, ?)",
    );
    this.#forgetAll = db.prepare("DELETE FROM remembered_actors WHERE namespace = ? AND type = ?");
  }

  settle(rule: ShardRule): ShardRule {
    const { namespace, type } = rule;
    const settled = this.#rule.get(namespace, type) as unknown as [number, string] | undefined;
    if (settled !== undefined) return { namespace, type, shards: settled[0], version: settled[1] };
    this.#settle.run(namespace, type, rule.shards, rule.version);
    return rule;
  }

  /**
   * Deletes in portions, so that other writers do not wait long for the file. The caller has checked in the
   * same transaction that no member hosts the type.
   */
  reset(namespace: string, type: string, limit: number): Reset {
    const last = this.#place.get(namespace, type, limit - 1) as unknown as [number, string] | undefined;
    if (last !== undefined) {
      this.#forgetTo.run(namespace, type, ...last);
      return { forgotten: limit, isDone: false };
    }
    const { changes } = this.#forgetAll.run(namespace, type);
    this.#dropHomes.run(namespace, type);
    this.#dropRule.run(namespace, type);
    return { forgotten: Number(changes), isDone: true };
  }

  homes(): TypeHomes[] {
    return (this.#types.all() as unknown as [string, string][]).map(([namespace, type]) => {
      return { namespace, type, homes: this.#homes.all(namespace, type) as unknown as TypeHomes["homes"] };
    });
  }

  /** The caller has checked in the same transaction that the term is current. */
  noteHomes(changes: readonly ShardHomeChange[]): void {
    for (const { namespace, type, shard, incarnation } of changes) {
      if (incarnation === undefined) this.#dropHome.run(namespace, type, shard);
      else this.#saveHome.run(namespace, type, shard, incarnation);
    }
  }

  remember(home: string | undefined, changes: readonly RememberedChange[]): boolean[] {
    return changes.map(({ namespace, type, shard, id, isKept }) => {
      if (home !== undefined && !this.#isHome(home, namespace, type, shard)) return false;
      (isKept ? this.#keep : this.#forget).run(namespace, type, shard, id);
      return true;
    });
  }

  #isHome(home: string, namespace: string, type: string, shard: number): boolean {
    const [incarnation] = (this.#home.get(namespace, type, shard) as unknown as [string] | undefined) ?? [];
    return incarnation === home;
  }

  remembered({ namespace, type, shard }: ShardKey, after: string | undefined, limit: number): string[] {
    const rows = this.#remembered.all(namespace, type, shard, after ?? "", limit);
    return (rows as unknown as [string][]).map(([id]) => id);
  }

  /** Skips from one shard to the next without reading the rows between. */
  rememberedShards(namespace: string, type: string): number[] {
    const shards: number[] = [];
    for (let last = -1; ; ) {
      const next = this.#nextShard.get(namespace, type, last) as unknown as [number] | undefined;
      if (next === undefined) return shards;
      [last] = next;
      shards.push(last);
    }
  }
}
