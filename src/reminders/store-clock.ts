// Estimates the time of the store. Reminders are due by the store's clock, because all processes share it.
// Each answer of the store contains its time at some moment between request and answer; from then on the
// local monotonic clock counts. The earliest possible time is used: a reminder is late by a moment rather
// than early.
import type { Clock } from "../ports/clock.ts";

/** The drift of the local clock against the store's clock: earlier answers count less and less. */
const DRIFT = 1e-4;

export class StoreClock {
  readonly #clock: Clock;
  /** The store's time minus the local monotonic time was at least this at the last answer. */
  #offset: number | undefined;
  #observedAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Takes the store's time, in whole milliseconds, from an answer to a request sent at `askedAt` of the
   * monotonic clock.
   */
  observe(storeNow: number, askedAt: number): void {
    const mono = this.#clock.monotonic();
    const least = storeNow - mono;
    const most = storeNow + 1 - askedAt;
    const before = this.#offset === undefined ? least : this.#offset - (mono - this.#observedAt) * DRIFT;
    // The previous answer may have been faster, and is then more exact, unless a clock was set since.
    this.#offset = Math.min(Math.max(before, least), most);
    this.#observedAt = mono;
  }

  /** The local wall clock until the first answer of the store. */
  now(): number {
    return this.#offset === undefined ? this.#clock.now() : this.#clock.monotonic() + this.#offset;
  }
}
