// How fast actors are started without a call: so many in a second, so many under way at the same time. Who has to wait goes on as soon as there
// is reason to look again.
import type { Clock } from "../../ports/clock.ts";

/** Those that are being started at the same time. */
const AT_ONCE = 200;
/** After this it is looked again whether somebody is there. */
const LOOK_MS = 200;
/** Starts follow each other in little groups, so that not each of them needs a timer. */
const GROUP_MS = 20;

export class StartPace {
  readonly #clock: Clock;
  readonly #perSecond: number;
  #underWay = 0;
  /** When the next may be started. */
  #nextAt = 0;
  readonly #pauses = new Set<() => void>();
  #isOver = false;

  constructor(perSecond: number, clock: Clock) {
    this.#perSecond = perSecond;
    this.#clock = clock;
  }

  /** After how long it is to be looked whether the next may be started. Undefined: it may be now. */
  get waitMs(): number | undefined {
    if (this.#underWay >= AT_ONCE) return LOOK_MS;
    const ms = this.#nextAt - this.#clock.monotonic();
    return ms > GROUP_MS ? ms : undefined;
  }

  /** One is being started; the function is called when that is over. */
  begin(): () => void {
    this.#nextAt = Math.max(this.#nextAt, this.#clock.monotonic()) + 1_000 / this.#perSecond;
    this.#underWay++;
    return () => {
      if (this.#underWay-- >= AT_ONCE) this.#resume();
    };
  }

  /** Also over as soon as one more may be under way. */
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

  /** Nobody waits any more. */
  stop(): void {
    this.#isOver = true;
    this.#resume();
  }

  #resume(): void {
    for (const over of [...this.#pauses]) over();
  }
}
