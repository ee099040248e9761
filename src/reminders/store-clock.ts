// What time it is for the store, as far as this process can know. Reminders are due by the store's clock, because all processes
// share it. Each answer of the store says what time it was there at some moment between question and answer; from then on our own
// monotonic clock counts. Of all times that it may be the earliest is believed: a reminder is late by a moment rather than early.
import type { Clock } from "../ports/clock.ts";

/** How much our clock may gain on the store's: what an earlier answer said is worth less and less. */
const DRIFT = 1e-4;

export class StoreClock {
  readonly #clock: Clock;
  /** The store's time minus our monotonic time was at least this when it was heard. */
  #offset: number | undefined;
  #heardAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The store has said what time it is, in whole milliseconds, to a question that was asked at `askedAt` of our monotonic time. */
  heard(storeNow: number, askedAt: number): void {
    const mono = this.#clock.monotonic();
    const least = storeNow - mono;
    const most = storeNow + 1 - askedAt;
    const before = this.#offset === undefined ? least : this.#offset - (mono - this.#heardAt) * DRIFT;
    // The answer before may have been on its way for less time, and then it is closer to the truth; unless a clock was set since.
    this.#offset = Math.min(Math.max(before, least), most);
    this.#heardAt = mono;
  }

  /** By our own wall clock until the store has been heard. */
  now(): number {
    return this.#offset === undefined ? this.#clock.now() : this.#clock.monotonic() + this.#offset;
  }
}
