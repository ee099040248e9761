// Measures how late the event loop runs its timers, and names the turns that may have blocked it. A blocked
// loop stops everything else in this process: calls, renewals of the lease, answers of the store.
import type { Clock, Timer } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import { DURATION_BUCKETS, type Histogram, type Meter } from "../ports/meter.ts";

export interface LoopWatchDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Meter;
  /**
   * Turns that had begun at `since` and had not ended at `until`, on the monotonic clock; the latest first.
   */
  turnsAcross(since: number, until: number): readonly string[];
}

const SAMPLE_MS = 500;
/** A delay worth a line in the log. */
const BLOCKED_MS = 1_000;
const MOST_NAMED = 5;

export class LoopWatch {
  readonly #deps: LoopWatchDeps;
  readonly #delay: Histogram;
  #timer: Timer | undefined;

  constructor(deps: LoopWatchDeps) {
    this.#deps = deps;
    const help = "How late timers of the process ran; sampled twice a second.";
    this.#delay = deps.meter.histogram("limpet_event_loop_delay_seconds", help, DURATION_BUCKETS);
    this.#sampleLater();
  }

  #sampleLater(): void {
    const { clock } = this.#deps;
    const due = clock.monotonic() + SAMPLE_MS;
    this.#timer = clock.after(SAMPLE_MS, () => this.#sample(due), "background");
  }

  #sample(due: number): void {
    const { clock, log, turnsAcross } = this.#deps;
    const now = clock.monotonic();
    const lateMs = Math.max(now - due, 0);
    this.#delay.observe(lateMs / 1_000);
    if (lateMs >= BLOCKED_MS) {
      const turns = turnsAcross(due, now);
      const more = turns.length > MOST_NAMED ? turns.length - MOST_NAMED : undefined;
      log.warn("loop.blocked", { ms: Math.round(lateMs), turns: turns.slice(0, MOST_NAMED), more });
    }
    this.#sampleLater();
  }

  stop(): void {
    this.#timer?.cancel();
  }
}
