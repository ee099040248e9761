// Long polls: a poll without work waits here until work may be available, its time is over, or the client
// disconnects.
import type { Clock } from "../../ports/clock.ts";

export interface PollAttempt<Found> {
  readonly found: Found | undefined;
  /** Milliseconds until the next look is worthwhile; undefined: unknown. */
  readonly nextMs?: number;
}

export class Waiting {
  readonly #clock: Clock;
  readonly #pollMs: number;
  readonly #wakers = new Set<() => void>();
  #isOpen = true;

  constructor(clock: Clock, pollMs: number) {
    this.#clock = clock;
    this.#pollMs = pollMs;
  }

  get size(): number {
    return this.#wakers.size;
  }

  /** Work may be available. */
  nudge(): void {
    for (const wake of [...this.#wakers]) wake();
  }

  /** Ends all polls. */
  close(): void {
    this.#isOpen = false;
    this.nudge();
  }

  /** Looks until a value is found; undefined: the time is over. */
  async until<Found>(
    waitMs: number,
    gone: AbortSignal,
    look: () => Promise<PollAttempt<Found>>,
  ): Promise<Found | undefined> {
    const end = this.#clock.monotonic() + waitMs;
    while (!gone.aborted) {
      const nudged = this.#nextNudge();
      try {
        const { found, nextMs = this.#pollMs } = await look();
        if (found !== undefined) return found;
        const leftMs = end - this.#clock.monotonic();
        if (leftMs <= 0 || !this.#isOpen) return undefined;
        await this.#pause(Math.min(leftMs, Math.max(nextMs, 10), this.#pollMs), gone, nudged.promise);
      } finally {
        nudged.cancel();
      }
    }
    return undefined;
  }

  /** Registers before the look, so that no nudge is missed during it. */
  #nextNudge(): { readonly promise: Promise<void>; cancel(): void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wakers.add(resolve);
    return { promise, cancel: () => void this.#wakers.delete(resolve) };
  }

  async #pause(ms: number, gone: AbortSignal, nudged: Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = this.#clock.after(ms, resolve);
    const leave = (): void => resolve();
    gone.addEventListener("abort", leave, { once: true });
    await Promise.race([promise, nudged]);
    timer.cancel();
    gone.removeEventListener("abort", leave);
  }
}
