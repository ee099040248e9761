// Writes messages as frames, straight into bytes. It writes only the part of MessagePack that messages.ts
// names. This keeps it small, and the size of a frame is known while it grows.
//
// Frames lie one behind another in a block, and a finished frame is never changed, so one writer serves many
// connections. When the bytes of the last frame are no longer needed, the next frame reuses their place.
import type { Primitive } from "./messages.ts";

const BLOCK_BYTES = 128 * 1024;
/** With less space than this the writer begins a new block; most frames of a quiet link are much smaller. */
const ROOM = 8 * 1024;
/** The length of the frame and the head of its array of messages. */
const HEAD = 4 + 5;
/** Below this length a loop is faster than a call into the runtime. */
const SHORT = 40;

export class FrameWriter {
  #block: Buffer = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  #start = 0;
  #at = 0;
  #count = 0;

  begin(): void {
    if (this.#block.length > BLOCK_BYTES || this.#block.length - this.#start < ROOM) {
      this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
      this.#start = 0;
    }
    this.#at = this.#start + HEAD;
    this.#count = 0;
  }

  /** Bytes of the frame so far. */
  get bytes(): number {
    return this.#at - this.#start;
  }

  /** Messages in the frame. */
  get count(): number {
    return this.#count;
  }

  /** Returns the bytes of the frame. The next frame lies behind it. */
  finish(): Buffer {
    const block = this.#block;
    const start = this.#start;
    block.writeUInt32BE(this.#at - start - 4, start);
    block[start + 4] = 0xdd;
    block.writeUInt32BE(this.#count, start + 5);
    this.#start = this.#at;
    return block.subarray(start, this.#at);
  }

  /** Marks the bytes of the frame as unused. */
  reuse(frame: Buffer): void {
    const isLast = frame.buffer === this.#block.buffer && frame.byteOffset + frame.length === this.#start;
    if (isLast) this.#start = frame.byteOffset;
  }

  /** Begins a message with the given number of fields. */
  message(fields: number, kind: number): void {
    this.#count++;
    this.list(fields);
    this.uint(kind);
  }

  list(length: number): void {
    const at = this.#room(5);
    const block = this.#block;
    if (length < 16) {
      block[at] = 0x90 | length;
      this.#at = at + 1;
    } else {
      block[at] = 0xdd;
      block.writeUInt32BE(length, at + 1);
      this.#at = at + 5;
    }
  }

  /** A whole number below 2^32. */
  uint(value: number): void {
    const at = this.#room(5);
    const block = this.#block;
    if (value < 0x80) {
      block[at] = value;
      this.#at = at + 1;
    } else if (value < 0x1_0000) {
      block[at] = 0xcd;
      block[at + 1] = value >>> 8;
      block[at + 2] = value;
      this.#at = at + 3;
    } else {
      block[at] = 0xce;
      block[at + 1] = value >>> 24;
      block[at + 2] = value >>> 16;
      block[at + 3] = value >>> 8;
      block[at + 4] = value;
      this.#at = at + 5;
    }
  }

  number(value: number): void {
    // Minus zero equals zero, and only a float keeps its sign.
    if (value >>> 0 === value && (value !== 0 || Object.is(value, 0))) {
      this.uint(value);
      return;
    }
    const at = this.#room(9);
    this.#block[at] = 0xcb;
    this.#block.writeDoubleBE(value, at + 1);
    this.#at = at + 9;
  }

  /** The text must be well-formed Unicode. */
  text(value: string): void {
    const { length } = value;
    const at = this.#room(5 + length * 3);
    const block = this.#block;
    if (length < SHORT) {
      let end = at + (length < 32 ? 1 : 2);
      let i = 0;
      for (; i < length; i++) {
        const unit = value.charCodeAt(i);
        if (unit > 0x7f) break;
        block[end++] = unit;
      }
      if (i === length) {
        if (length < 32) {
          block[at] = 0xa0 | length;
        } else {
          block[at] = 0xd9;
          block[at + 1] = length;
        }
        this.#at = end;
        return;
      }
    }
    const bytes = block.write(value, at + 5);
    block[at] = 0xdb;
    block.writeUInt32BE(bytes, at + 1);
    this.#at = at + 5 + bytes;
  }

  flag(value: boolean): void {
    const at = this.#room(1);
    this.#block[at] = value ? 0xc3 : 0xc2;
    this.#at = at + 1;
  }

  nil(): void {
    const at = this.#room(1);
    this.#block[at] = 0xc0;
    this.#at = at + 1;
  }

  primitive(value: Primitive): void {
    if (typeof value === "number") this.number(value);
    else if (typeof value === "string") this.text(value);
    else if (value === null) this.nil();
    else this.flag(value);
  }

  /** Returns the position of the next byte, after making space for `bytes`. */
  #room(bytes: number): number {
    if (this.#at + bytes > this.#block.length) this.#grow(bytes);
    return this.#at;
  }

  #grow(bytes: number): void {
    const written = this.#at - this.#start;
    const block = Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, 2 * written + bytes));
    this.#block.copy(block, 0, this.#start, this.#at);
    this.#block = block;
    this.#start = 0;
    this.#at = written;
  }
}
