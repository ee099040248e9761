// Tells whoever waits for the answer to an update when it may be there: at once when the run is worked on in this process. What happens
// elsewhere is seen when they look again.
import type { Clock } from "../../ports/clock.ts";
import type { TaskCompletion } from "../../ports/workflows.ts";

/** Waiting that has begun: what is written from then on ends it. */
export interface AnswerWait {
  /** Something was written about an update of the run, or so much time has passed. Throws when nobody looks any more. */
  within(ms: number): Promise<void>;
  /** Nobody waits any more. */
  end(): void;
}

export class UpdateWatch {
  readonly #clock: Clock;
  readonly #waiting = new Map<number, Set<() => void>>();
  #stopped: Error | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins to wait; whoever looks at the history after this misses nothing. */
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

  /** This is durable now. A run may do much else meanwhile, and nobody looks for an answer in that. */
  written({ ref, page, fate }: TaskCompletion): void {
    if (!this.#waiting.has(ref)) return;
    if (fate.kind === "close" || page?.data.includes('"kind":"Update') === true) this.ended(ref);
  }

  /** There will be no answer, if there is none by now. */
  ended(ref: number): void {
    const waiting = this.#waiting.get(ref);
    this.#waiting.delete(ref);
    for (const resolve of waiting ?? []) resolve();
  }

  /** Whoever waits is told so, and may ask another process: the update goes on. */
  stop(reason: Error): void {
    this.#stopped = reason;
    for (const ref of [...this.#waiting.keys()]) this.ended(ref);
  }
}
