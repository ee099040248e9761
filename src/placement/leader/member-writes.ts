// Persists membership changes of one term, in order. Changes queue while a write is in progress, and the next
// write takes them together: many hosts that join at once do not wait for each other. The queue stays short,
// because a leader that cannot reach the store soon loses its leadership.
import { isLimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Coordination, MemberChange } from "../../ports/store/coordination.ts";

export interface MemberWritesDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly coordination: Coordination;
  /** The term is over: another scheduler leads. */
  over(why: string): void;
}

interface PendingChange {
  readonly change: MemberChange;
  /** Called once the change is durable. */
  written(): void;
}

const RETRY_MS = 200;

export class MemberWrites {
  readonly term: number;
  readonly #deps: MemberWritesDeps;
  readonly #pending: PendingChange[] = [];
  #writing: Promise<void> | undefined;
  #over = false;

  constructor(term: number, deps: MemberWritesDeps) {
    this.term = term;
    this.#deps = deps;
  }

  /** Calls back when the change is durable. */
  write(change: MemberChange, written = (): void => {}): void {
    this.#pending.push({ change, written });
    // Deferred, so that changes of the same moment are written together.
    this.#writing ??= Promise.resolve().then(() => this.#writeAll());
  }

  /** Resolves when all changes are durable, or the term has ended. */
  written(): Promise<void> {
    return this.#writing ?? Promise.resolve();
  }

  end(): void {
    this.#over = true;
  }

  /** Retries while the store does not respond, together with newer changes; the term may end meanwhile. */
  async #writeAll(): Promise<void> {
    while (!this.#over && this.#pending.length > 0) {
      const batch = this.#pending.slice(0, LIMITS.memberChanges);
      const changes = batch.map(({ change }) => change);
      try {
        const isCurrent = await this.#deps.coordination.persist(this.term, changes);
        if (!isCurrent) return this.#deps.over("another scheduler leads by now");
        for (const { written } of batch) {
          // One by one: if the callback of one change fails, the rest is written again.
          this.#pending.shift();
          written();
        }
      } catch (err) {
        if (!isLimpetError(err, "STORE_UNAVAILABLE")) this.#deps.log.error("member.write-failed", { err });
        await new Promise<void>((resolve) => this.#deps.clock.after(RETRY_MS, resolve, "background"));
      }
    }
    this.#writing = undefined;
  }
}
