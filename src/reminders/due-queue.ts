// What waits for its moment, the earliest first. Types wait apart from each other: one that may not go on is passed over.
import { Heap } from "../kernel/heap.ts";

/** Its moment does not change while it waits. */
export interface Due {
  readonly wakeAt: number;
}

export class DueQueue<T extends Due> {
  /** None is empty. */
  readonly #types = new Map<string, Heap<T>>();

  push(type: string, item: T): void {
    const known = this.#types.get(type);
    const heap = known ?? new Heap<T>((a, b) => a.wakeAt < b.wakeAt);
    if (known === undefined) this.#types.set(type, heap);
    heap.push(item);
  }

  /** The earliest of a type that may go on. */
  first(may: (type: string) => boolean): T | undefined {
    let first: T | undefined;
    for (const [type, heap] of this.#types) {
      const item = heap.peek()!;
      if ((first === undefined || item.wakeAt < first.wakeAt) && may(type)) first = item;
    }
    return first;
  }

  /** Takes the earliest of a type out. */
  pop(type: string): void {
    const heap = this.#types.get(type);
    heap?.pop();
    if (heap?.size === 0) this.#types.delete(type);
  }
}
