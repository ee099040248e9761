// Wakes claimed reminders at their time, by the store's clock. One timer serves the earliest of them. Each
// type has its own queue, so that a type without capacity is skipped until a delivery of it ends.
import { Heap } from "../kernel/heap.ts";
import type { Timer } from "../ports/clock.ts";
import type { ClaimedEntry } from "./claimed.ts";
import type { ReminderPorts } from "./reminder-ports.ts";

/** The time does not change while the item is queued. */
export interface QueueItem {
  readonly wakeAt: number;
}

export class DueQueue<T extends QueueItem> {
  /** Never contains an empty heap. */
  readonly #types = new Map<string, Heap<T>>();

  push(type: string, item: T): void {
    const known = this.#types.get(type);
    const heap = known ?? new Heap<T>((a, b) => a.wakeAt < b.wakeAt);
    if (known === undefined) this.#types.set(type, heap);
    heap.push(item);
  }

  /** The earliest item of a permitted type. */
  first(may: (type: string) => boolean): T | undefined {
    let first: T | undefined;
    for (const [type, heap] of this.#types) {
      const item = heap.peek()!;
      if ((first === undefined || item.wakeAt < first.wakeAt) && may(type)) first = item;
    }
    return first;
  }

  /** Removes the earliest item of a type. */
  pop(type: string): void {
    const heap = this.#types.get(type);
    heap?.pop();
    if (heap?.size === 0) this.#types.delete(type);
  }
}

export interface DueTimerDeps extends Pick<ReminderPorts, "clock" | "storeClock"> {
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
