// A clock that stands still until it is told to move. What was deferred with `soon` still runs by itself, so that
// commits flow; only waiting is virtual.

import type { Duration } from "../kernel/durations.ts";
import { parseDuration } from "../kernel/durations.ts";
import type { Clock, Timer } from "../ports/clock.ts";

interface Alarm {
  readonly at: number;
  readonly order: number;
  readonly fn: () => void;
}

/** How many rounds of the event loop the work set off by one alarm gets before the clock moves on. */
const SETTLE_ROUNDS = 10;

export class VirtualClock implements Clock {
  readonly #startedAt: number;
  #elapsed = 0;
  #order = 0;
  readonly #alarms = new Set<Alarm>();

  constructor(startedAt = Date.UTC(2030, 0, 1)) {
    this.#startedAt = startedAt;
  }

  now(): number {
    return this.#startedAt + this.#elapsed;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  after(ms: number, fn: () => void): Timer {
    const alarm = { at: this.#elapsed + Math.max(ms, 0), order: this.#order++, fn };
    this.#alarms.add(alarm);
    return { cancel: () => void this.#alarms.delete(alarm) };
  }

  soon(fn: () => void): void {
    setImmediate(fn);
  }

  /** Moves time forward, ringing what becomes due on the way, in order, and letting its work settle. */
  async advance(duration: Duration): Promise<void> {
    const until = this.#elapsed + parseDuration(duration, "advance");
    await settle();
    for (let alarm = this.#next(until); alarm !== undefined; alarm = this.#next(until)) {
      this.#alarms.delete(alarm);
      this.#elapsed = Math.max(this.#elapsed, alarm.at);
      alarm.fn();
      await settle();
    }
    this.#elapsed = until;
  }

  #next(until: number): Alarm | undefined {
    let next: Alarm | undefined;
    for (const alarm of this.#alarms) {
      if (alarm.at > until) continue;
      if (next === undefined || alarm.at < next.at || (alarm.at === next.at && alarm.order < next.order)) next = alarm;
    }
    return next;
  }
}

async function settle(): Promise<void> {
  for (let i = 0; i < SETTLE_ROUNDS; i++) await new Promise((resolve) => setImmediate(resolve));
}
