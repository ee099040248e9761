// Wakes claimed reminders at their time, by the store's clock. One timer serves the earliest of them. A type
// without capacity is skipped until a delivery of it ends.
import type { Clock, Timer } from "../ports/clock.ts";
import type { ClaimedEntry } from "./claimed.ts";
import { DueQueue } from "./due-queue.ts";
import type { StoreClock } from "./store-clock.ts";

export interface DueTimerDeps {
  readonly clock: Clock;
  readonly storeClock: StoreClock;
  /** Whether a check or a delivery of the type may begin now. */
  mayBegin(type: string): boolean;
  wake(entry: ClaimedEntry, now: number): void;
}

/** Entries in one turn of the event loop. */
const BURST = 1_000;

export class DueTimer {
  readonly #deps: DueTimerDeps;
  readonly #queue = new DueQueue<ClaimedEntry>();
  #timer: Timer | undefined;
  /** On the monotonic clock. */
  #timerAt = Number.POSITIVE_INFINITY;
  #isImmediate = false;
  #isStopped = false;

  constructor(deps: DueTimerDeps) {
    this.#deps = deps;
  }

  add(entry: ClaimedEntry): void {
    this.#queue.push(entry.reminder.key.type, entry);
    this.arm();
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  /** Sets the timer for the earliest entry; called also when capacity was freed. */
  arm(): void {
    // With a backlog this is called for each entry.
    if (this.#isImmediate) return;
    const { clock, storeClock, mayBegin } = this.#deps;
    const first = this.#isStopped ? undefined : this.#queue.first(mayBegin);
    if (first === undefined) return;
    const ms = Math.max(Math.ceil(first.wakeAt - storeClock.now()), 0);
    const at = clock.monotonic() + ms;
    if (at >= this.#timerAt) return;
    this.#timer?.cancel();
    this.#timerAt = at;
    this.#isImmediate = ms === 0;
    this.#timer = ms > 0 ? clock.after(ms, () => this.#wakeDue()) : undefined;
    // Even the shortest timer takes a millisecond.
    if (ms === 0) clock.soon(() => this.#wakeDue());
  }

  #wakeDue(): void {
    const { storeClock, mayBegin, wake } = this.#deps;
    this.#timerAt = Number.POSITIVE_INFINITY;
    this.#isImmediate = false;
    const now = storeClock.now();
    for (let count = 0; count < BURST && !this.#isStopped; count++) {
      const first = this.#queue.first(mayBegin);
      if (first === undefined || first.wakeAt > now) break;
      this.#queue.pop(first.reminder.key.type);
      if (first.state === "waiting") wake(first, now);
    }
    this.arm();
  }
}
