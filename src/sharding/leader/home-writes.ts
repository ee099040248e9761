// Homes of shards on their way to the store, as the leader of one term has them noted: many in one write, one write at a time, again and
// again while the store does not answer.
import { isLimpetError } from "../../kernel/errors.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { ShardHomeChange, Shards } from "../../ports/store/shards.ts";

export interface HomeWritesDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly shards: Shards;
  /** The term is over: somebody else leads. */
  over(why: string): void;
}

const AT_ONCE = 1_000;
const RETRY_MS = 200;

export class HomeWrites {
  readonly #term: number;
  readonly #deps: HomeWritesDeps;
  readonly #waiting: { readonly change: ShardHomeChange; readonly written: () => void }[] = [];
  #isWriting = false;
  #isOver = false;

  constructor(term: number, deps: HomeWritesDeps) {
    this.#term = term;
    this.#deps = deps;
  }

  /** Calls back when it is durable. */
  write(change: ShardHomeChange, written: () => void): void {
    this.#waiting.push({ change, written });
    if (this.#isWriting) return;
    this.#isWriting = true;
    // In a moment: what is to be noted now is written together.
    void Promise.resolve().then(() => this.#writeAll());
  }

  end(): void {
    this.#isOver = true;
    this.#waiting.length = 0;
  }

  async #writeAll(): Promise<void> {
    const { clock, log, shards, over } = this.#deps;
    while (!this.#isOver && this.#waiting.length > 0) {
      const some = this.#waiting.slice(0, AT_ONCE);
      const changes = some.map(({ change }) => change);
      try {
        if (!(await shards.noteHomes(this.#term, changes))) return over("another scheduler leads by now");
        this.#waiting.splice(0, some.length);
        for (const { written } of some) written();
      } catch (err) {
        if (!isLimpetError(err, "STORE_UNAVAILABLE")) log.error("a note about a shard failed", { err });
        await new Promise<void>((resolve) => clock.after(RETRY_MS, resolve, "background"));
      }
    }
    this.#isWriting = false;
  }
}
