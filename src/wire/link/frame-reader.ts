// Splits received bytes into frames. A frame that lies whole in one chunk is passed on in place. A frame in
// several chunks is collected in a buffer that grows with the received bytes, not with the announced length.
import type { ByteBudget } from "../byte-budget.ts";
import { broken } from "./message-reader.ts";

export interface FrameSink {
  /**
   * One frame without its length. The bytes are valid until the method returns. False: the sink takes no more
   * frames.
   */
  frame(bytes: Buffer, start: number, end: number): boolean;
}

const HEAD = 4;
/** Initial size of the buffer of a collected frame, or less when the frame is shorter. */
const FIRST_ROOM = 64 * 1024;

export class FrameReader {
  readonly #held: ByteBudget | undefined;
  /** The largest frame. A larger one throws PROTOCOL before any of it is kept. */
  maxBytes: number;
  #gathered: Buffer | undefined;
  /** Bytes in the buffer, including the head. */
  #filled = 0;
  /** Length of the collected frame including the head; unknown until the head has arrived. */
  #wanted = HEAD;

  constructor(maxBytes: number, held?: ByteBudget) {
    this.maxBytes = maxBytes;
    this.#held = held;
  }

  push(piece: Buffer, sink: FrameSink): void {
    let at = 0;
    while (at < piece.length) {
      if (this.#gathered !== undefined) {
        at = this.#gather(piece, at);
        if (this.#filled === this.#wanted && !this.#handOn(sink)) return;
        continue;
      }
      if (piece.length - at >= HEAD) {
        const end = at + HEAD + this.#lengthAt(piece, at);
        if (end <= piece.length) {
          if (!sink.frame(piece, at + HEAD, end)) return;
          at = end;
          continue;
        }
      }
      this.#begin();
    }
  }

  /** Releases the held bytes. The reader is not used again. */
  close(): void {
    if (this.#gathered !== undefined) this.#held?.giveBack(this.#gathered.length);
    this.#gathered = undefined;
  }

  #begin(): void {
    this.#hold(HEAD);
    this.#gathered = Buffer.allocUnsafe(HEAD);
    this.#filled = 0;
    this.#wanted = HEAD;
  }

  #gather(piece: Buffer, from: number): number {
    const at = this.#fill(piece, from, HEAD);
    if (this.#filled < HEAD) return at;
    if (this.#filled === HEAD) this.#wanted = HEAD + this.#lengthAt(this.#gathered!, 0);
    return this.#fill(piece, at, this.#wanted);
  }

  /**
   * Copies bytes of the chunk until the buffer holds `until` bytes; returns the position where it stopped.
   */
  #fill(piece: Buffer, from: number, until: number): number {
    const taken = Math.min(until - this.#filled, piece.length - from);
    if (taken <= 0) return from;
    const needed = this.#filled + taken;
    if (needed > this.#gathered!.length) {
      this.#grow(Math.min(until, Math.max(needed, 2 * this.#gathered!.length, FIRST_ROOM)));
    }
    piece.copy(this.#gathered!, this.#filled, from, from + taken);
    this.#filled = needed;
    return from + taken;
  }

  #grow(bytes: number): void {
    const old = this.#gathered!;
    this.#hold(bytes - old.length);
    this.#gathered = Buffer.allocUnsafeSlow(bytes);
    old.copy(this.#gathered, 0, 0, this.#filled);
  }

  #hold(bytes: number): void {
    if (this.#held?.take(bytes) === false) throw broken("too many partly received frames");
  }

  #handOn(sink: FrameSink): boolean {
    const bytes = this.#gathered!;
    this.close();
    return sink.frame(bytes, HEAD, this.#wanted);
  }

  #lengthAt(bytes: Buffer, at: number): number {
    const length = bytes.readUInt32BE(at);
    if (length > this.maxBytes) throw broken(`a frame is larger than ${this.maxBytes} bytes`);
    return length;
  }
}
