// A clock for one app that stands still until the test moves it. Its time is the timeline of a virtual world.
// Work deferred with `soon` runs by itself, so calls and commits run in real time and only waiting is
// virtual.
import type { Duration } from "../kernel/durations.ts";
import { parseDuration } from "../kernel/durations.ts";
import type { Clock, Timer } from "../ports/clock.ts";
import { BEGINNING } from "./local-clock.ts";
import { KIND, Timeline } from "./timeline.ts";

/** Rounds of the event loop for the work of one timer before the clock continues. */
const SETTLE_ROUNDS = 10;

export class VirtualClock implements Clock {
  readonly #startedAt: number;
  readonly #timeline = new Timeline();
  readonly #holds = new Set<Promise<unknown>>();

  constructor(startedAt = BEGINNING) {
    this.#startedAt = startedAt;
  }

  now(): number {
    return this.#startedAt + this.#timeline.now;
  }

  monotonic(): number {
    return this.#timeline.now;
  }

  after(ms: number, fn: () => void): Timer {
    return this.#timeline.plan(this.#timeline.now + Math.max(ms, 0), KIND.timer, undefined, fn);
  }

  soon(fn: () => void): void {
    setImmediate(fn);
  }

  /** Moves time forward, fires due timers in order, and lets their work settle. */
  async advance(duration: Duration): Promise<void> {
    const until = this.#timeline.now + parseDuration(duration, "advance");
    do await this.#settle();
    while (this.#timeline.step(until));
    await this.#timeline.run(until);
  }

  /** Lets pending work continue, without any time passing. */
  settled(): Promise<void> {
    return this.#settle();
  }

  /** Stops time until this is done: a process is starting. */
  hold(work: Promise<unknown>): void {
    this.#holds.add(work);
    const over = (): void => void this.#holds.delete(work);
    work.then(over, over);
  }

  async #settle(): Promise<void> {
    for (;;) {
      await settle();
      if (this.#holds.size === 0) return;
      await Promise.allSettled([...this.#holds]);
    }
  }
}

async function settle(): Promise<void> {
  for (let i = 0; i < SETTLE_ROUNDS; i++) await new Promise((resolve) => setImmediate(resolve));
}
