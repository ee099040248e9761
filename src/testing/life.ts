// The life of a process of a test. When it is over nothing of the process goes on: what it asks is never answered, its timers never go off.
import type { Clock } from "../ports/clock.ts";

/** What somebody who has ended waits for. */
export const never = (): Promise<never> => new Promise(() => {});

export class Life {
  readonly #end = Promise.withResolvers<void>();
  #isOver = false;

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Resolves when it is. */
  get over(): Promise<void> {
    return this.#end.promise;
  }

  end(): void {
    this.#isOver = true;
    this.#end.resolve();
  }

  /** Runs it, unless the process has ended by then. */
  guard<Args extends readonly unknown[]>(fn: (...args: Args) => void): (...args: Args) => void {
    return (...args) => {
      if (!this.#isOver) fn(...args);
    };
  }
}

/** The clock, as long as the process lives. */
export const mortalClock = (clock: Clock, life: Life): Clock => ({
  now: () => clock.now(),
  monotonic: () => clock.monotonic(),
  after: (ms, fn, background) => clock.after(ms, life.guard(fn), background),
  soon: (fn) => clock.soon(life.guard(fn)),
});
