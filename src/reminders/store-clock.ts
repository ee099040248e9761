// What time it is for the store, as far as this process can know. Reminders are due by the store's clock, because all processes
// share it. Each answer of the store says what time it was there; from then on our own monotonic clock counts. The answer was on its way
// for a moment, so what is worked out here is never ahead of the store: a reminder is never early.
import type { Clock } from "../ports/clock.ts";

/** After this long the next answer counts, whatever it says: clocks drift, and the store's may have been set. */
const TRUSTED_MS = 60_000;

export class StoreClock {
  readonly #clock: Clock;
  /** The store's time minus our monotonic time: at least this. */
  #offset: number | undefined;
  #heardAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The store has said what time it is. */
  heard(storeNow: number): void {
    const mono = this.#clock.monotonic();
    const offset = storeNow - mono;
    const isOld = mono - this.#heardAt > TRUSTED_MS;
    const isBack = this.#offset !== undefined && offset < this.#offset - TRUSTED_MS;
    // Of two answers that of the shorter way is closer to the truth: it says a later time.
    if (this.#offset !== undefined && offset <= this.#offset && !isOld && !isBack) return;
    this.#offset = offset;
    this.#heardAt = mono;
  }

  /** By our own wall clock until the store has been heard. */
  now(): number {
    return this.#offset === undefined ? this.#clock.now() : this.#clock.monotonic() + this.#offset;
  }
}
