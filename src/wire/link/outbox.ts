// What is to be said on a connection, in order, until the connection takes it.
import type { FrameWriter } from "./frame-writer.ts";

export interface Outgoing {
  /** Roughly what it takes; it must not change while it waits. */
  readonly bytes: number;
  /** It is not to be said any more. */
  readonly takenOut: boolean;
  /** Writes one message, or nothing when it turns out to be too late for it. */
  write(writer: FrameWriter): void;
}

/** So many that do not wait any more may stay before they are cleared away. */
const SLACK = 1_024;

export class Outbox {
  #items: Outgoing[] = [];
  /** Those before it are gone. */
  #next = 0;
  #takenOut = 0;
  #bytes = 0;

  /** How many wait. */
  get size(): number {
    return this.#items.length - this.#next - this.#takenOut;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** How many are kept in memory, also of those that do not wait any more. */
  get kept(): number {
    return this.#items.length;
  }

  push(item: Outgoing): void {
    this.#items.push(item);
    this.#bytes += item.bytes;
  }

  /** To be called once, when an item that waits has become one that is taken out. */
  takeOut(item: Outgoing): void {
    this.#bytes -= item.bytes;
    this.#takenOut++;
    this.#tidy();
  }

  /** Writes what waits, until nothing does or the frame is full. */
  fill(writer: FrameWriter, fullBytes: number): void {
    const items = this.#items;
    while (this.#next < items.length) {
      const item = items[this.#next++]!;
      if (item.takenOut) {
        this.#takenOut--;
        continue;
      }
      this.#bytes -= item.bytes;
      item.write(writer);
      if (writer.bytes >= fullBytes) break;
    }
    if (this.#next === items.length) this.#empty();
    else this.#tidy();
  }

  /** Everything that waits; nothing does afterwards. */
  takeAll(): Outgoing[] {
    const waiting = this.#waiting();
    this.#empty();
    return waiting;
  }

  #waiting(): Outgoing[] {
    return this.#items.slice(this.#next).filter(({ takenOut }) => !takenOut);
  }

  /** When most of what is kept does not wait any more. */
  #tidy(): void {
    const gone = this.#next + this.#takenOut;
    if (gone < SLACK || gone * 2 < this.#items.length) return;
    this.#items = this.#waiting();
    this.#next = 0;
    this.#takenOut = 0;
  }

  #empty(): void {
    this.#items.length = 0;
    this.#next = 0;
    this.#takenOut = 0;
    this.#bytes = 0;
  }
}
