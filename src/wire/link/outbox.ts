// Messages that wait for a connection, in order, until the connection sends them.
import type { FrameWriter } from "./frame-writer.ts";

export interface OutgoingFrame {
  /** Approximate size; it must not change while the message waits. */
  readonly bytes: number;
  /** The message must not be sent any more. */
  readonly takenOut: boolean;
  /** Writes one message, or nothing when it is too late for it. */
  write(writer: FrameWriter): void;
}

/** This many entries that no longer wait may stay before a clean-up. */
const SLACK = 1_024;

export class LinkOutbox {
  #items: OutgoingFrame[] = [];
  /** Entries before this index were sent. */
  #next = 0;
  #takenOut = 0;
  #bytes = 0;

  /** Number of waiting messages. */
  get size(): number {
    return this.#items.length - this.#next - this.#takenOut;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Number of entries in memory, including entries that no longer wait. */
  get kept(): number {
    return this.#items.length;
  }

  push(item: OutgoingFrame): void {
    this.#items.push(item);
    this.#bytes += item.bytes;
  }

  /** Called once, after a waiting item has become one that is taken out. */
  takeOut(item: OutgoingFrame): void {
    this.#bytes -= item.bytes;
    this.#takenOut++;
    this.#tidy();
  }

  /** Writes waiting messages until none is left or the frame is full. */
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

  /** Removes and returns all waiting messages. */
  takeAll(): OutgoingFrame[] {
    const waiting = this.#waiting();
    this.#empty();
    return waiting;
  }

  #waiting(): OutgoingFrame[] {
    return this.#items.slice(this.#next).filter(({ takenOut }) => !takenOut);
  }

  /** Cleans up when most entries no longer wait. */
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
