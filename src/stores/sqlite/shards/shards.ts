// The port of shards on the event loop: each step is a request to the worker thread, which serves the
// leader's requests about homes before takes and commits.
import type {
  RememberedChange,
  ShardHomeChange,
  ShardHomeRow,
  ShardKey,
  ShardRule,
  Shards,
} from "../../../ports/store/shards.ts";
import type { WorkerLink } from "../thread/worker-link.ts";
import { type HomesAnswer, packHomeChanges, packRemembered, type ResetAnswer, unpackHomes } from "./messages.ts";

/** Actors that one transaction deletes: it delays other writers by some milliseconds. */
const RESET_ROWS = 5_000;

export class SqliteShards implements Shards {
  readonly #link: WorkerLink;

  constructor(link: WorkerLink) {
    this.#link = link;
  }

  // Field by field, here and below: other properties of the caller's object need not be cloneable.
  async settle({ namespace, type, shards, version }: ShardRule): Promise<ShardRule> {
    return (await this.#link.ask({
      kind: "settle-rule",
      rule: { namespace, type, shards, version },
    })) as ShardRule;
  }

  async reset(namespace: string, type: string, ended: readonly string[] = []): Promise<boolean> {
    for (;;) {
      const question = { kind: "reset-shards", namespace, type, ended: [...ended], limit: RESET_ROWS } as const;
      const { isDone, isHosted } = (await this.#link.ask(question)) as ResetAnswer;
      if (isHosted || isDone) return !isHosted;
    }
  }

  async homes(): Promise<ShardHomeRow[]> {
    return unpackHomes((await this.#link.ask({ kind: "homes" })) as HomesAnswer);
  }

  async noteHomes(term: number, changes: readonly ShardHomeChange[]): Promise<boolean> {
    return (await this.#link.ask({ kind: "note-homes", term, ...packHomeChanges(changes) })) as boolean;
  }

  async remember(home: string | undefined, changes: readonly RememberedChange[]): Promise<boolean[]> {
    return (await this.#link.ask({ kind: "remember", home, ...packRemembered(changes) })) as boolean[];
  }

  async remembered({ namespace, type, shard }: ShardKey, after: string | undefined, limit: number): Promise<string[]> {
    const question = { kind: "remembered", shard: { namespace, type, shard }, after, limit } as const;
    return (await this.#link.ask(question)) as string[];
  }

  async rememberedShards(namespace: string, type: string): Promise<number[]> {
    return (await this.#link.ask({ kind: "remembered-shards", namespace, type })) as number[];
  }
}
