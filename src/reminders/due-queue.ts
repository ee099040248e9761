// Queue of reminders by due time, the earliest first. Each type has its own queue, so that a type without
// capacity is skipped.
import { Heap } from "../kernel/heap.ts";

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
