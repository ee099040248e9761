// Persists the homes of shards for the leader of one term: many in one write, one write at a time, with
// retries while the store does not respond.
import { isLimpetError } from "../../kernel/errors.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { ShardHomeChange, Shards } from "../../ports/store/shards.ts";

export interface HomeWritesDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly shards: Shards;
  /** The term is over: another scheduler leads. */
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

  /** Calls back when the change is durable. */
  write(change: ShardHomeChange, written: () => void): void {
    this.#waiting.push({ change, written });
    if (this.#isWriting) return;
    this.#isWriting = true;
    // Deferred, so that changes of the same moment are written together.
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
      } catch (err) {
        if (!isLimpetError(err, "STORE_UNAVAILABLE")) log.error("shard.write-failed", { err });
        await new Promise<void>((resolve) => clock.after(RETRY_MS, resolve, "background"));
        continue;
      }
      this.#waiting.splice(0, some.length);
      for (const { written } of some) this.#notify(written);
    }
    this.#isWriting = false;
  }

  /** The home is durable. A callback that throws is a bug, and must not delay the other callbacks. */
  #notify(written: () => void): void {
    try {
      written();
    } catch (err) {
      this.#deps.log.error("shard.callback-failed", { err });
    }
  }
}
