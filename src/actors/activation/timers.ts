// Timers of one activation: kept in memory, run as turns, and removed with the activation. A timer has at
// most one tick in progress. A tick that throws is logged, and the timer continues. A late tick does not
// delay the next ones.

import type { Duration } from "../../kernel/durations.ts";
import { parseDuration } from "../../kernel/durations.ts";
import { LimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import { checkTimerName } from "../../kernel/names.ts";
import type { Clock, Timer } from "../../ports/clock.ts";

export interface TimerSchedule {
  /** Time until the first tick; `every` unless given. */
  readonly due?: Duration;
  /** Time between ticks. Without it the timer ticks once. */
  readonly every?: Duration;
}

export interface ActorTimers {
  /** Sets a timer; one of the same name is replaced. */
  set(name: string, schedule: TimerSchedule, tick: () => unknown): void;
  /** False: there was none. */
  cancel(name: string): boolean;
  /** Names of the timers that will still tick. */
  list(): string[];
}

interface Entry {
  readonly everyMs: number | undefined;
  readonly tick: () => unknown;
  nextAt: number;
  timer: Timer | undefined;
}

export class ActivationTimers implements ActorTimers {
  readonly #clock: Clock;
  /** Runs a tick as a turn; resolves when the turn ends, with success or failure. */
  readonly #runTick: (name: string, tick: () => unknown) => Promise<void>;
  readonly #entries = new Map<string, Entry>();
  #ended = false;

  constructor(clock: Clock, runTick: (name: string, tick: () => unknown) => Promise<void>) {
    this.#clock = clock;
    this.#runTick = runTick;
  }

  set(name: string, schedule: TimerSchedule, tick: () => unknown): void {
    if (this.#ended) throw new LimpetError("TIMER_INVALID", `timer ${name}: the activation it belongs to has ended`);
    checkTimerName(name);
    if (typeof tick !== "function") throw new LimpetError("TIMER_INVALID", `timer ${name} needs a function to run`);
    const first = schedule.due ?? schedule.every;
    if (first === undefined) throw new LimpetError("TIMER_INVALID", `timer ${name} needs "due" or "every"`);
    const dueMs = parseDuration(first, `timer ${name}: due`);
    const everyMs = schedule.every === undefined ? undefined : parseDuration(schedule.every, `timer ${name}: every`);
    if (everyMs === 0) throw new LimpetError("TIMER_INVALID", `timer ${name}: every must be longer than 0`);
    if (this.#entries.size >= LIMITS.timersPerActor && !this.#entries.has(name)) {
      throw new LimpetError(
        "TIMER_INVALID",
        `timer ${name}: an actor may have at most ${LIMITS.timersPerActor} timers; cancel one first`,
      );
    }
    this.cancel(name);
    const entry: Entry = { everyMs, tick, nextAt: this.#clock.monotonic() + dueMs, timer: undefined };
    this.#entries.set(name, entry);
    this.#arm(name, entry);
  }

  cancel(name: string): boolean {
    this.#entries.get(name)?.timer?.cancel();
    return this.#entries.delete(name);
  }

  list(): string[] {
    return [...this.#entries.keys()];
  }

  end(): void {
    this.#ended = true;
    for (const entry of this.#entries.values()) entry.timer?.cancel();
    this.#entries.clear();
  }

  #arm(name: string, entry: Entry): void {
    const wait = entry.nextAt - this.#clock.monotonic();
    entry.timer = this.#clock.after(wait, () => void this.#fire(name, entry), "background");
  }

  async #fire(name: string, entry: Entry): Promise<void> {
    if (entry.everyMs === undefined) this.#entries.delete(name);
    await this.#runTick(name, entry.tick);
    // The timer was replaced or cancelled while the tick waited or ran.
    if (entry.everyMs === undefined || this.#entries.get(name) !== entry) return;
    const missed = Math.max(0, Math.floor((this.#clock.monotonic() - entry.nextAt) / entry.everyMs));
    entry.nextAt += (missed + 1) * entry.everyMs;
    this.#arm(name, entry);
  }
}
