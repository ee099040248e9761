// Shards at a virtual database, as one process sees them: every request is subject to the database's faults.
import type {
  RememberedChange,
  ShardHomeChange,
  ShardHomeRow,
  ShardKey,
  ShardRule,
  Shards,
} from "../../ports/store/shards.ts";
import type { Station } from "../network/network.ts";
import type { Ask, Database, Question } from "./database.ts";

export class ShardsClient implements Shards {
  readonly #database: Database;
  readonly #station: Station;
  readonly #askStore: Ask;

  constructor(database: Database, station: Station, ask: Ask) {
    this.#database = database;
    this.#station = station;
    this.#askStore = ask;
  }

  async #ask<T>(question: Question, work: (truth: Shards) => Promise<T>): Promise<T> {
    return this.#askStore(question, () => work(this.#database.truth.shards));
  }

  async settle(rule: ShardRule): Promise<ShardRule> {
    return this.#ask("rule", async (truth) => {
      const settled = await truth.settle(rule);
      for (const watcher of this.#database.watchers) watcher.ruled?.(this.#station, rule, settled);
      return settled;
    });
  }

  async reset(namespace: string, type: string, ended?: readonly string[]): Promise<boolean> {
    return this.#ask("rule", (truth) => truth.reset(namespace, type, ended));
  }

  async homes(): Promise<ShardHomeRow[]> {
    return this.#ask("homes", (truth) => truth.homes());
  }

  async noteHomes(term: number, changes: readonly ShardHomeChange[]): Promise<boolean> {
    return this.#ask("note homes", async (truth) => {
      const isCurrent = await truth.noteHomes(term, changes);
      for (const watcher of this.#database.watchers) watcher.notedHomes?.(this.#station, term, changes, isCurrent);
      return isCurrent;
    });
  }

  async remember(home: string | undefined, changes: readonly RememberedChange[]): Promise<boolean[]> {
    return this.#ask("remember", async (truth) => {
      const made = await truth.remember(home, changes);
      for (const watcher of this.#database.watchers) watcher.remembered?.(this.#station, home, changes, made);
      return made;
    });
  }

  async remembered(shard: ShardKey, after: string | undefined, limit: number): Promise<string[]> {
    return this.#ask("recall", (truth) => truth.remembered(shard, after, limit));
  }

  async rememberedShards(namespace: string, type: string): Promise<number[]> {
    return this.#ask("recall", (truth) => truth.rememberedShards(namespace, type));
  }
}
