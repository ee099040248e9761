// Limits the starts of actors without a call: per second, and in progress at the same time. A waiting caller
// continues as soon as it may be able to start.
import type { Clock } from "../../ports/clock.ts";

/** Maximum number of starts in progress. */
const AT_ONCE = 200;
/** Interval of checks while that maximum is reached. */
const LOOK_MS = 200;
/** Starts come in small groups, so that they share timers. */
const GROUP_MS = 20;

export class StartRateLimit {
  readonly #clock: Clock;
  readonly #perSecond: number;
  #inProgress = 0;
  /** Time of the next start. */
  #nextAt = 0;
  readonly #pauses = new Set<() => void>();
  #isOver = false;

  constructor(perSecond: number, clock: Clock) {
    this.#perSecond = perSecond;
    this.#clock = clock;
  }

  /** Time until the next check. Undefined: the next actor may start now. */
  get waitMs(): number | undefined {
    if (this.#inProgress >= AT_ONCE) return LOOK_MS;
    const ms = this.#nextAt - this.#clock.monotonic();
    return ms > GROUP_MS ? ms : undefined;
  }

  /** Begins a start; the returned function must be called when it is over. */
  begin(): () => void {
    this.#nextAt = Math.max(this.#nextAt, this.#clock.monotonic()) + 1_000 / this.#perSecond;
    this.#inProgress++;
    return () => {
      if (this.#inProgress-- >= AT_ONCE) this.#resume();
    };
  }

  /** Ends early when another start becomes possible. */
  async pause(ms: number): Promise<void> {
    if (this.#isOver) return;
    await new Promise<void>((resolve) => {
      const over = (): void => {
        timer.cancel();
        this.#pauses.delete(over);
        resolve();
      };
      const timer = this.#clock.after(ms, over, "background");
      this.#pauses.add(over);
    });
  }

  /** Ends all pauses. */
  stop(): void {
    this.#isOver = true;
    this.#resume();
  }

  #resume(): void {
    for (const over of [...this.#pauses]) over();
  }
}
