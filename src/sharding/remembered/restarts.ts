// Actors of one type that have stopped and wait for their restart, the earliest first.
//
// An actor that stops without a failure waits for the shortest time. An actor that fails waits twice as long
// as after its previous failure, up to the longest time. Its failures are forgotten when it has run for as
// long as it waited.
import { Heap } from "../../kernel/heap.ts";
import type { Clock, Timer } from "../../ports/clock.ts";

export interface Restart {
  /** On the monotonic clock. */
  readonly at: number;
  /**
   * How many times the host had become the home of its shard when the actor stopped. Undefined: it never did.
   */
  readonly tenure: number | undefined;
  /** Undefined: the shard could not be computed. */
  readonly shard: number | undefined;
}

export interface RestartTimes {
  readonly restartAfterMs: number;
  readonly restartAtMostMs: number;
}

interface Failing {
  readonly at: number;
  readonly waitMs: number;
  /** Time of the last start without a failure. Undefined: there was none, or a call started it. */
  startedAt: number | undefined;
}

/** Due actors start in small groups, so that they share timers. */
const GROUP_MS = 20;
/** Actors with known failures. Above this number, recovered ones are dropped first, and then the oldest. */
const MOST_FAILING = 10_000;

export class RememberedRestarts {
  readonly #clock: Clock;
  readonly #times: RestartTimes;
  readonly #wake: () => void;
  readonly #waiting = new Map<string, Restart>();
  /** In order of time. An entry that differs from the one in `#waiting` is void. */
  readonly #order = new Heap<{ readonly id: string; readonly restart: Restart; readonly number: number }>((a, b) =>
    a.restart.at === b.restart.at ? a.number < b.number : a.restart.at < b.restart.at,
  );
  #numbers = 0;
  readonly #failing = new Map<string, Failing>();
  #alarm: Timer | undefined;
  #alarmAt = Number.POSITIVE_INFINITY;

  /** `ring` is called when an actor is due. */
  constructor(times: RestartTimes, clock: Clock, ring: () => void) {
    this.#times = times;
    this.#clock = clock;
    this.#wake = ring;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** The first actor that is due. */
  get due(): string | undefined {
    const first = this.#first();
    return first !== undefined && first.restart.at <= this.#clock.monotonic() ? first.id : undefined;
  }

  get(id: string): Restart | undefined {
    return this.#waiting.get(id);
  }

  /** Begins its wait anew, even if it waits already. */
  add(id: string, tenure: number | undefined, shard: number | undefined, hasFailed: boolean): void {
    const now = this.#clock.monotonic();
    const restart = { at: now + (hasFailed ? this.#failed(id, now) : this.#times.restartAfterMs), tenure, shard };
    this.#waiting.set(id, restart);
    this.#order.push({ id, restart, number: ++this.#numbers });
    this.#setAlarm();
  }

  /** Duration of this wait. */
  #failed(id: string, now: number): number {
    const { restartAfterMs, restartAtMostMs } = this.#times;
    const before = this.#failing.get(id);
    const isFirst = before === undefined || this.#hasRecovered(before, now);
    const waitMs = isFirst ? restartAfterMs : Math.min(before.waitMs * 2, restartAtMostMs);
    this.#failing.delete(id);
    this.#failing.set(id, { at: now, waitMs, startedAt: undefined });
    if (this.#failing.size > MOST_FAILING) this.#forgetSome(now);
    return waitMs;
  }

  /** It was started, and did not fail at once. */
  started(id: string): void {
    const failing = this.#failing.get(id);
    if (failing !== undefined) failing.startedAt = this.#clock.monotonic();
  }

  /**
   * The actor has run for as long as its last pause; or it is unknown for so long that a call must have
   * started it.
   */
  #hasRecovered({ at, waitMs, startedAt }: Failing, now: number): boolean {
    return now - (startedAt ?? at + 2 * this.#times.restartAtMostMs) >= waitMs;
  }

  #forgetSome(now: number): void {
    for (const [id, failing] of this.#failing) if (this.#hasRecovered(failing, now)) this.#failing.delete(id);
    for (const id of this.#failing.keys()) {
      if (this.#failing.size <= MOST_FAILING / 2) return;
      this.#failing.delete(id);
    }
  }

  delete(id: string): void {
    this.#waiting.delete(id);
  }

  stop(): void {
    this.#waiting.clear();
    this.#failing.clear();
    this.#alarm?.cancel();
  }

  #first(): { readonly id: string; readonly restart: Restart } | undefined {
    for (let first = this.#order.peek(); first !== undefined; first = this.#order.peek()) {
      if (this.#waiting.get(first.id) === first.restart) return first;
      this.#order.pop();
    }
    return undefined;
  }

  #setAlarm(): void {
    const first = this.#first();
    if (first === undefined || first.restart.at >= this.#alarmAt) return;
    this.#alarm?.cancel();
    const now = this.#clock.monotonic();
    const ms = Math.max(first.restart.at - now, GROUP_MS);
    this.#alarmAt = now + ms;
    const ring = (): void => {
      this.#alarmAt = Number.POSITIVE_INFINITY;
      this.#wake();
      this.#setAlarm();
    };
    this.#alarm = this.#clock.after(ms, ring, "background");
  }
}
