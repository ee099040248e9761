// The lifetime of a process of a test. After its end nothing of the process continues: its requests get no
// answer, and its timers never fire.
import type { Clock } from "../ports/clock.ts";

/** Pending for ever: for requests of an ended process. */
export const never = (): Promise<never> => new Promise(() => {});

export class AppLife {
  readonly #end = Promise.withResolvers<void>();
  #isOver = false;

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Resolves at the end. */
  get over(): Promise<void> {
    return this.#end.promise;
  }

  end(): void {
    this.#isOver = true;
    this.#end.resolve();
  }

  /** Runs the function, unless the process has ended by then. */
  guard<Args extends readonly unknown[]>(fn: (...args: Args) => void): (...args: Args) => void {
    return (...args) => {
      if (!this.#isOver) fn(...args);
    };
  }
}

/** The clock, as long as the process lives. */
export const mortalClock = (clock: Clock, life: AppLife): Clock => ({
  now: () => clock.now(),
  monotonic: () => clock.monotonic(),
  after: (ms, fn, background) => clock.after(ms, life.guard(fn), background),
  soon: (fn) => clock.soon(life.guard(fn)),
});
