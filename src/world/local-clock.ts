// The clock of one process in a virtual world. It can have every fault of a machine's clock: set to another
// time, too fast or too slow, stopped while the machine sleeps, coarse, or early.
import type { Clock, Timer } from "../ports/clock.ts";
import { type Actee, KIND, type Timeline } from "./timeline.ts";

/** Start of every world, by its own wall clock. */
export const BEGINNING = Date.UTC(2030, 0, 1);

export interface ClockTroubles {
  /** Local milliseconds per millisecond. */
  readonly rate?: number;
  /** Offset of the wall clock. */
  readonly offsetMs?: number;
  /** Timers fire at multiples of this. */
  readonly grainMs?: number;
  /** Timers may fire this much too early, as those of an operating system do. */
  readonly earlyMs?: number;
}

export class LocalClock implements Clock {
  readonly #timeline: Timeline;
  readonly #actee: Actee;
  readonly #grainMs: number;
  readonly #earlyMs: number;
  #rate: number;
  #offsetMs: number;
  /** Readings of the clocks at their last change. */
  #since: number;
  #elapsed = 0;
  #slept = 0;
  #sleepsSince: number | undefined;

  constructor(timeline: Timeline, actee: Actee, troubles: ClockTroubles = {}) {
    this.#timeline = timeline;
    this.#actee = actee;
    this.#rate = troubles.rate ?? 1;
    this.#offsetMs = troubles.offsetMs ?? 0;
    this.#grainMs = troubles.grainMs ?? 0;
    this.#earlyMs = troubles.earlyMs ?? 0;
    this.#since = timeline.now;
    // No code may rely on a process that starts at 0.
    this.#elapsed = 1_000;
    this.#offsetMs += timeline.now - 1_000;
  }

  now(): number {
    return Math.floor(BEGINNING + this.#offsetMs + this.monotonic() + this.#sleptNow());
  }

  monotonic(): number {
    if (this.#sleepsSince !== undefined) return this.#elapsed;
    return this.#elapsed + (this.#timeline.now - this.#since) * this.#rate;
  }

  #sleptNow(): number {
    return this.#slept + (this.#sleepsSince === undefined ? 0 : this.#timeline.now - this.#sleepsSince);
  }

  after(ms: number, fn: () => void): Timer {
    // As Node does it: whole milliseconds, and at least one.
    const length = Math.max(Math.ceil(ms), 1);
    let due = this.monotonic() + Math.max(length - this.#earlyMs, length / 2);
    if (this.#grainMs > 0) due = Math.ceil(due / this.#grainMs) * this.#grainMs;
    const ring = (): void => {
      // The clock runs slower than when the timer was set.
      if (due - this.monotonic() > SLACK_MS) happening = this.#planned(due, ring);
      else fn();
    };
    let happening = this.#planned(due, ring);
    return { cancel: () => happening.cancel() };
  }

  #planned(due: number, ring: () => void): ReturnType<Timeline["plan"]> {
    const at = this.#timeline.now + (due - this.monotonic()) / this.#rate;
    return this.#timeline.plan(at, KIND.timer, this.#actee, ring);
  }

  soon(fn: () => void): void {
    this.#timeline.plan(this.#timeline.now, KIND.soon, this.#actee, fn);
  }

  // ——— Faults.

  /** Sets the wall clock. */
  jump(ms: number): void {
    this.#offsetMs += ms;
  }

  /** Changes the rate from now on. */
  drift(rate: number): void {
    this.#touch();
    this.#rate = rate;
  }

  /** The machine sleeps: the monotonic clock stands still, the wall clock continues. */
  sleep(): void {
    this.#touch();
    this.#sleepsSince ??= this.#timeline.now;
  }

  wake(): void {
    if (this.#sleepsSince === undefined) return;
    this.#slept = this.#sleptNow();
    this.#sleepsSince = undefined;
    this.#since = this.#timeline.now;
  }

  #touch(): void {
    this.#elapsed = this.monotonic();
    this.#since = this.#timeline.now;
  }
}

/** More than the rounding error of these calculations. */
const SLACK_MS = 1e-6;
