// Virtual time: an ordered queue of events. Time stands still during an event and then jumps to the next one,
// so a quiet hour costs nothing. Events of the same time run in the order in which they were planned.
// One step is one event and all promise callbacks that follow from it: Node runs all of them before it calls
// the next immediate. Nothing here waits for real time.
import { Heap } from "../kernel/heap.ts";

/** Owner of an event. A sleeping process keeps it for later, an ended one drops it. */
export interface Actee {
  readonly number: number;
  /** Returns false if the event must not run now; the owner then plans it again. */
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

/** Kinds of events; part of the trace. */
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

  /** Milliseconds since the start of the world. */
  get now(): number {
    return this.#now;
  }

  /** Number of events that have run. */
  get steps(): number {
    return this.#steps;
  }

  /** Number of planned events, including some cancelled ones. */
  get planned(): number {
    return this.#heap.size;
  }

  /** Equal for two runs in which all events happened in the same order at the same times. */
  get trace(): string {
    const hex = (half: number): string => (half >>> 0).toString(16).padStart(8, "0");
    return hex(this.#traceHigh) + hex(this.#traceLow);
  }

  plan(at: number, kind: number, actee: Actee | undefined, run: () => void): Happening {
    const happening = new Happening(Math.max(at, this.#now), this.#order++, kind, actee, run);
    this.#heap.push(happening);
    return happening;
  }

  /** Plans a held-back event again, behind the events of the same time. */
  planAgain(happening: Happening, at: number): void {
    happening.at = Math.max(at, this.#now);
    happening.order = this.#order++;
    this.#heap.push(happening);
  }

  /** Adds a value to the trace. */
  note(value: number): void {
    this.#traceLow = Math.imul(this.#traceLow ^ value, 0x01000193);
    this.#traceHigh = Math.imul(this.#traceHigh ^ (value + 0x9e37), 0x85ebca6b);
    this.#traceHigh ^= this.#traceLow >>> 15;
  }

  noteText(text: string): void {
    for (let i = 0; i < text.length; i++) this.note(text.charCodeAt(i));
  }

  /** Time of the next event; undefined if none is planned. */
  get next(): number | undefined {
    for (let first = this.#heap.peek(); first !== undefined; first = this.#heap.peek()) {
      if (!first.isCancelled) return first.at;
      this.#heap.pop();
    }
    return undefined;
  }

  /** Runs the next event. Returns false if none is planned up to `until`. */
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
   * Runs events until `isDone`, or up to the time `until`, which then is the current time. `isDone` is
   * checked before every step; `after` runs after all consequences of a step.
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
