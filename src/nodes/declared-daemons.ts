// Which actors of a type always run, as its class says (actors/daemons.ts). How many there are may change while the process runs.
import { isCount } from "../actors/daemons.ts";
import type { Log } from "../ports/log.ts";

export class DeclaredDaemons {
  readonly #type: string;
  readonly #count: () => number;
  readonly #shardOf: (id: string) => number;
  readonly #log: Log;
  #last = 0;

  constructor(type: string, count: () => number, shardOf: (id: string) => number, log: Log) {
    this.#type = type;
    this.#count = count;
    this.#shardOf = shardOf;
    this.#log = log;
    this.look();
  }

  /** Asks how many there are to be. While the application cannot say, those before go on. */
  look(): void {
    try {
      const count: unknown = this.#count();
      if (isCount(count)) this.#last = count;
      else this.#log.warn("daemons.count_invalid", { type: this.#type, count });
    } catch (err) {
      this.#log.warn("daemons.count_failed", { type: this.#type, err });
    }
  }

  has(id: string): boolean {
    const number = Number(id);
    return Number.isInteger(number) && number >= 0 && number < this.#last && String(number) === id;
  }

  /** Their shards, each with those in it. */
  byShard(): Map<number, string[]> {
    return Map.groupBy(
      Array.from({ length: this.#last }, (_, i) => String(i)),
      (id) => this.#shardOf(id),
    );
  }

  in(shard: number): string[] {
    return this.byShard().get(shard) ?? [];
  }

  /** For an error. */
  get range(): string {
    return this.#last === 0 ? "no daemons" : `the daemons 0 to ${this.#last - 1}`;
  }
}
