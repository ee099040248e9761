// Long polls: a poll without work waits here until work may be available, its time is over, or the client
// disconnects.
import type { Clock } from "../ports/clock.ts";

export interface Attempt<Found> {
  readonly found: Found | undefined;
  /** Milliseconds until the next look is worthwhile; undefined: unknown. */
  readonly nextMs?: number | undefined;
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
    look: () => Promise<Attempt<Found>>,
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

/**
 * Answers to polls by request id: a poll that is repeated because its answer was lost gets the same answer
 * while that is valid. Concurrent polls of the same id share one answer.
 */
export class PollAnswers<Answer> {
  readonly #clock: Clock;
  readonly #most: number;
  readonly #keepMs: number;
  readonly #answers = new Map<string, { readonly answer: Promise<Answer | undefined>; until: number }>();

  constructor(clock: Clock, most: number, keepMs: number) {
    this.#clock = clock;
    this.#most = most;
    this.#keepMs = keepMs;
  }

  async ask(name: string | undefined, poll: () => Promise<Answer | undefined>): Promise<Answer | undefined> {
    if (name === undefined) return poll();
    const known = this.#answers.get(name);
    if (known !== undefined && known.until > this.#clock.monotonic()) {
      const answer = await known.answer;
      // The first poll may have been aborted before its end.
      if (answer !== undefined) return answer;
    }
    const entry = { answer: poll(), until: Number.POSITIVE_INFINITY };
    this.#answers.set(name, entry);
    for (const oldest of this.#answers.keys()) {
      if (this.#answers.size <= this.#most) break;
      this.#answers.delete(oldest);
    }
    try {
      const answer = await entry.answer;
      entry.until = this.#clock.monotonic() + this.#keepMs;
      if (answer === undefined) this.#answers.delete(name);
      return answer;
    } catch (error) {
      this.#answers.delete(name);
      throw error;
    }
  }
}
