// Actors of one type that have stopped and are to be started again, each when its time has come. All wait equally long, so who stopped first
// is first.
import type { Clock, Timer } from "../ports/clock.ts";

export interface Restart {
  /** On the monotonic clock. */
  readonly at: number;
  /** How many times the host had become the home of its shard when it stopped. Undefined: nobody has said that it is. */
  readonly tenure: number | undefined;
  /** Undefined: it could not be said which one it is in. */
  readonly shard: number | undefined;
}

/** Those whose time has come are started in little groups, so that not each of them needs a timer. */
const GROUP_MS = 20;

export class RememberedRestarts {
  readonly #clock: Clock;
  readonly #afterMs: number;
  readonly #ring: () => void;
  readonly #waiting = new Map<string, Restart>();
  #alarm: Timer | undefined;

  /** `ring` is called when the time of somebody has come. */
  constructor(afterMs: number, clock: Clock, ring: () => void) {
    this.#afterMs = afterMs;
    this.#clock = clock;
    this.#ring = ring;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Whose time has come first. */
  get due(): string | undefined {
    const [first] = this.#waiting;
    return first !== undefined && first[1].at <= this.#clock.monotonic() ? first[0] : undefined;
  }

  get(id: string): Restart | undefined {
    return this.#waiting.get(id);
  }

  /** It goes to the end of the line, also if it waits already. */
  add(id: string, tenure: number | undefined, shard: number | undefined): void {
    this.#waiting.delete(id);
    this.#waiting.set(id, { at: this.#clock.monotonic() + this.#afterMs, tenure, shard });
    this.#setAlarm();
  }

  delete(id: string): void {
    this.#waiting.delete(id);
  }

  stop(): void {
    this.#waiting.clear();
    this.#alarm?.cancel();
  }

  #setAlarm(): void {
    const [first] = this.#waiting.values();
    if (this.#alarm !== undefined || first === undefined) return;
    const ring = (): void => {
      this.#alarm = undefined;
      this.#ring();
      this.#setAlarm();
    };
    this.#alarm = this.#clock.after(Math.max(first.at - this.#clock.monotonic(), GROUP_MS), ring, "background");
  }
}
