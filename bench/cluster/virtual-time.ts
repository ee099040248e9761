// Events on a clock that stands still between them. Events of the same time happen in the order in which they
// were requested.

interface Due {
  readonly at: number;
  readonly order: number;
  readonly go: (now: number) => void;
}

export class VirtualTime {
  /** A heap: nothing is due before the entry at half its index. */
  readonly #heap: Due[] = [];
  #order = 0;

  at(at: number, go: (now: number) => void): void {
    const heap = this.#heap;
    let index = heap.push({ at, order: this.#order++, go }) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(heap[index]!, heap[parent]!)) return;
      this.#swap(index, parent);
      index = parent;
    }
  }

  /** Runs until no event is left. */
  run(): void {
    for (let due = this.#take(); due !== undefined; due = this.#take()) due.go(due.at);
  }

  #take(): Due | undefined {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (first === undefined || heap.length === 0) return first;
    heap[0] = last!;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) return first;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, heap[index]!)) return first;
      this.#swap(index, child);
      index = child;
    }
  }

  #swap(a: number, b: number): void {
    const heap = this.#heap;
    [heap[a], heap[b]] = [heap[b]!, heap[a]!];
  }
}

function isBefore(a: Due, b: Due): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
