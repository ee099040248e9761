// Lists the actors of a type that always run, as its class declares (actors/options/daemons.ts). Their number
// may change while the process runs.
import { isDaemonCount } from "../../kernel/shards.ts";
import type { Log } from "../../ports/log.ts";

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

  /** Reads the number of daemons. While the application's function fails, the last number holds. */
  look(): void {
    try {
      const count: unknown = this.#count();
      if (isDaemonCount(count)) this.#last = count;
      else this.#log.warn("daemons.count-invalid", { type: this.#type, count });
    } catch (err) {
      this.#log.warn("daemons.count-failed", { type: this.#type, err });
    }
  }

  has(id: string): boolean {
    const number = Number(id);
    return Number.isInteger(number) && number >= 0 && number < this.#last && String(number) === id;
  }

  /** Their shards, each with its daemons. */
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
