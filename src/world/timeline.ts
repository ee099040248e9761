// Virtual time: what is going to happen, in order. Time stands still while something happens and then jumps to the next thing,
// so a quiet hour costs nothing. What happens at the same moment happens in the order in which it was planned.
//
// One step is one happening together with everything that promises make of it: Node runs all of that before it calls the next
// immediate. Nothing here waits for real time.
import { Heap } from "../kernel/heap.ts";

/** Whose happening it is. A process that sleeps keeps it for later, one that has ended lets it go. */
export interface Actee {
  readonly number: number;
  /** False: not now, and whoever said so sees to it. */
  takes(happening: Happening): boolean;
}

export class Happening {
  at: number;
  order: number;
  readonly kind: number;
  readonly actee: Actee | undefined;
  readonly run: () => void;
  isCancelled = false;

  constructor(at: number, order: number, kind: number, actee: Actee | undefined, run: () => void) {
    this.at = at;
    this.order = order;
    this.kind = kind;
    this.actee = actee;
    this.run = run;
  }

  cancel(): void {
    this.isCancelled = true;
  }
}

/** What kind of thing happens; part of the trace. */
export const KIND = { timer: 1, soon: 2, message: 3, network: 4, query: 5, answer: 6, script: 7 } as const;

/** Immediates queued at once: one turn of Node's event loop then carries many steps. */
const MOST_QUEUED = 256;

export class Timeline {
  readonly #heap = new Heap<Happening>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order));
  #now = 0;
  #order = 0;
  #steps = 0;
  #traceLow = 0x811c9dc5;
  #traceHigh = 0x9747b28c;

  /** Milliseconds since the world began. */
  get now(): number {
    return this.#now;
  }

  /** Things that have happened. */
  get steps(): number {
    return this.#steps;
  }

  /** Planned, and not cancelled for sure. */
  get planned(): number {
    return this.#heap.size;
  }

  /** The same for two runs if everything happened in the same order at the same moments. */
  get trace(): string {
    const hex = (half: number): string => (half >>> 0).toString(16).padStart(8, "0");
    return hex(this.#traceHigh) + hex(this.#traceLow);
  }

  plan(at: number, kind: number, actee: Actee | undefined, run: () => void): Happening {
    const happening = new Happening(Math.max(at, this.#now), this.#order++, kind, actee, run);
    this.#heap.push(happening);
    return happening;
  }

  /** Something that was held back is planned anew, behind what is planned for the same moment. */
  planAgain(happening: Happening, at: number): void {
    happening.at = Math.max(at, this.#now);
    happening.order = this.#order++;
    this.#heap.push(happening);
  }

  /** Puts something into the trace. */
  note(value: number): void {
    this.#traceLow = Math.imul(this.#traceLow ^ value, 0x01000193);
    this.#traceHigh = Math.imul(this.#traceHigh ^ (value + 0x9e37), 0x85ebca6b);
    this.#traceHigh ^= this.#traceLow >>> 15;
  }

  noteText(text: string): void {
    for (let i = 0; i < text.length; i++) this.note(text.charCodeAt(i));
  }

  /** When the next thing happens; undefined when nothing is planned. */
  get next(): number | undefined {
    for (let first = this.#heap.peek(); first !== undefined; first = this.#heap.peek()) {
      if (!first.isCancelled) return first.at;
      this.#heap.pop();
    }
    return undefined;
  }

  /** Lets the next thing happen. False: nothing is planned up to `until`. */
  step(until: number): boolean {
    for (let first = this.#heap.peek(); first !== undefined && first.at <= until; first = this.#heap.peek()) {
      this.#heap.pop();
      if (first.isCancelled) continue;
      if (first.at > this.#now) this.#now = first.at;
      if (first.actee !== undefined && !first.actee.takes(first)) continue;
      this.#steps++;
      this.note((this.#now * 1_000) | 0);
      this.note((first.kind << 16) | (first.actee?.number ?? 0));
      first.run();
      return true;
    }
    return false;
  }

  /**
   * Lets things happen until `isDone`, or up to the moment `until`, which it then is. `isDone` is asked before every step; `after`
   * runs when everything that a step set off has happened.
   */
  run(until: number, isDone: () => boolean = () => false, after: () => void = () => {}): Promise<void> {
    return new Promise((resolve, reject) => {
      let queued = 0;
      let batch = 1;
      let isOver = false;
      let hasStepped = false;
      const step = (): void => {
        queued--;
        if (isOver) return;
        try {
          if (hasStepped) after();
          if (isDone()) isOver = true;
          else if (!this.step(until)) {
            if (until !== Number.POSITIVE_INFINITY) this.#now = Math.max(this.#now, until);
            isOver = true;
          }
          hasStepped = true;
        } catch (error) {
          isOver = true;
          reject(error as Error);
          return;
        }
        if (isOver) resolve();
        else if (queued === 0) fill();
      };
      const fill = (): void => {
        batch = Math.min(batch * 2, MOST_QUEUED);
        for (; queued < batch; queued++) setImmediate(step);
      };
      fill();
    });
  }
}
