// Waits of a host for a condition, such as a table that lists it. The host checks them after every change.
import type { Clock } from "../../ports/clock.ts";

export class ConditionWaits {
  readonly #clock: Clock;
  readonly #checks = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves to true when the condition holds; to false on timeout. */
  async until(condition: () => boolean, ms: number): Promise<boolean> {
    if (condition()) return true;
    return new Promise((resolve) => {
      const done = (outcome: boolean): void => {
        timer.cancel();
        this.#checks.delete(check);
        resolve(outcome);
      };
      const check = (): void => {
        if (condition()) done(true);
      };
      const timer = this.#clock.after(ms, () => done(condition()));
      this.#checks.add(check);
    });
  }

  /** A condition may hold now. */
  notify(): void {
    for (const check of [...this.#checks]) check();
  }
}
