// Notifies callers that wait for an update when this process writes to its run. Writes of other processes are
// found by polling.
import type { Clock } from "../../ports/clock.ts";
import type { TaskCompletion } from "../../ports/store/workflows.ts";

/** A wait that has begun; later writes end it. */
export interface AnswerWait {
  /** Resolves when an event of an update is written, or the time is over. Throws after `stop`. */
  within(ms: number): Promise<void>;
  /** Removes the wait. */
  end(): void;
}

export class UpdateWatch {
  readonly #clock: Clock;
  readonly #waiting = new Map<number, Set<() => void>>();
  #stopped: Error | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins a wait; a caller that reads the history afterwards misses no event. */
  of(ref: number): AnswerWait {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(ref) ?? new Set();
    this.#waiting.set(ref, waiting.add(resolve));
    return {
      within: async (ms) => {
        const timer = this.#clock.after(ms, resolve);
        if (this.#stopped === undefined) await promise;
        timer.cancel();
        if (this.#stopped !== undefined) throw this.#stopped;
      },
      end: () => {
        waiting.delete(resolve);
        if (waiting.size === 0 && this.#waiting.get(ref) === waiting) this.#waiting.delete(ref);
      },
    };
  }

  /**
   * Called after the write is durable. Only events of updates and ends notify, because a run writes much
   * else.
   */
  written({ ref, batch, outcome }: TaskCompletion): void {
    if (!this.#waiting.has(ref)) return;
    if (outcome.kind === "close" || batch?.data.includes('"kind":"Update') === true) this.ended(ref);
  }

  /** The run is over: the history holds the outcome, or none follows. */
  ended(ref: number): void {
    const waiting = this.#waiting.get(ref);
    this.#waiting.delete(ref);
    for (const resolve of waiting ?? []) resolve();
  }

  /** Rejects all waiting calls; their callers may ask another process, and the update continues. */
  stop(reason: Error): void {
    this.#stopped = reason;
    for (const ref of [...this.#waiting.keys()]) this.ended(ref);
  }
}
