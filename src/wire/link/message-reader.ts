// Reads the output of frame-writer.ts. Each method reads one item. It throws PROTOCOL when the item has
// another type or ends beyond the frame; a reader that threw is not used again.
// The reader allocates nothing for an announced length alone and uses no recursion. Its strings are new ones
// that do not keep the bytes of the frame in memory.
import { LimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import type { Primitive } from "./messages.ts";

/** Types and methods recur in nearly every call. */
const NAMES = 256;
const SHORT = 16;

const { fromCharCode } = String;

export class MessageReader {
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  #end = 0;
  readonly #names = new Array<string | undefined>(NAMES).fill(undefined);

  open(bytes: Buffer, start: number, end: number): void {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  /** The frame must end here. */
  close(): void {
    if (this.#at !== this.#end) throw broken("a frame has bytes behind its last message");
  }

  /** Returns the length of the list that begins here. */
  list(): number {
    const bytes = this.#bytes;
    const at = this.#at;
    const token = bytes[at]!;
    let length: number;
    if (token >= 0x90 && token < 0xa0) {
      length = token - 0x90;
      this.#at = at + 1;
    } else if (token === 0xdd) {
      length = this.#uint32(at + 1);
      this.#at = at + 5;
    } else if (token === 0xdc) {
      length = (bytes[at + 1]! << 8) | bytes[at + 2]!;
      this.#at = at + 3;
    } else throw broken("a list is missing");
    // Each item takes at least one byte. A length whose bytes lie beyond the frame reads as NaN and is
    // rejected here as well.
    if (!(this.#at + length <= this.#end)) throw broken("a list leads beyond its frame");
    return length;
  }

  /** A whole number below 2^32. */
  uint(): number {
    const bytes = this.#bytes;
    const at = this.#at;
    const token = bytes[at]!;
    let value: number;
    if (token < 0x80) {
      value = token;
      this.#at = at + 1;
    } else if (token === 0xcd) {
      value = (bytes[at + 1]! << 8) | bytes[at + 2]!;
      this.#at = at + 3;
    } else if (token === 0xce) {
      value = this.#uint32(at + 1);
      this.#at = at + 5;
    } else if (token === 0xcc) {
      value = bytes[at + 1]!;
      this.#at = at + 2;
    } else throw broken("a whole number is missing");
    if (this.#at > this.#end) throw broken("a number leads beyond its frame");
    return value;
  }

  number(): number {
    const bytes = this.#bytes;
    const at = this.#at;
    const token = bytes[at]!;
    if (token < 0x80 || (token >= 0xcc && token <= 0xce)) return this.uint();
    if (token >= 0xe0) {
      this.#at = at + 1;
      if (this.#at > this.#end) throw broken("a number leads beyond its frame");
      return token - 0x100;
    }
    const size = token === 0xcb ? 8 : token === 0xd2 ? 4 : token === 0xd1 ? 2 : token === 0xd0 ? 1 : 0;
    if (size === 0) throw broken("a number is missing");
    if (at + 1 + size > this.#end) throw broken("a number leads beyond its frame");
    this.#at = at + 1 + size;
    return size === 8 ? bytes.readDoubleBE(at + 1) : bytes.readIntBE(at + 1, size);
  }

  text(): string {
    const length = this.#textLength();
    const at = this.#at;
    this.#at = at + length;
    if (length <= SHORT) {
      const text = shortText(this.#bytes, at, length);
      if (text !== undefined) return text;
    }
    return this.#bytes.toString("utf8", at, at + length);
  }

  /** Reads a text with few distinct values, which recur often. */
  name(): string {
    const length = this.#textLength();
    const bytes = this.#bytes;
    const at = this.#at;
    const end = at + length;
    this.#at = end;
    if (length > LIMITS.wordBytes) return bytes.toString("utf8", at, end);
    let hash = length;
    for (let i = at; i < end; i++) hash = (Math.imul(hash, 31) + bytes[i]!) | 0;
    const slot = hash & (NAMES - 1);
    const known = this.#names[slot];
    if (known !== undefined && isSame(known, bytes, at, length)) return known;
    const name = bytes.toString("utf8", at, end);
    this.#names[slot] = name;
    return name;
  }

  flag(): boolean {
    const value = this.primitive();
    if (typeof value !== "boolean") throw broken("a boolean is missing");
    return value;
  }

  textOrNil(): string | undefined {
    if (this.#bytes[this.#at] !== 0xc0) return this.text();
    this.#skip();
    return undefined;
  }

  primitive(): Primitive {
    const token = this.#bytes[this.#at]!;
    if (token < 0x80 || token >= 0xe0) return this.number();
    if ((token >= 0xa0 && token < 0xc0) || (token >= 0xd9 && token <= 0xdb)) return this.text();
    if (token !== 0xc0 && token !== 0xc2 && token !== 0xc3) return this.number();
    this.#skip();
    return token === 0xc0 ? null : token === 0xc3;
  }

  /** Reads a list of primitives, or a text. */
  primitivesOrText(): Primitive[] | string {
    const token = this.#bytes[this.#at]!;
    if ((token >= 0xa0 && token < 0xc0) || (token >= 0xd9 && token <= 0xdb)) return this.text();
    const length = this.list();
    const items: Primitive[] = [];
    for (let i = 0; i < length; i++) items.push(this.primitive());
    return items;
  }

  #skip(): void {
    if (++this.#at > this.#end) throw broken("a message leads beyond its frame");
  }

  #textLength(): number {
    const bytes = this.#bytes;
    const at = this.#at;
    const token = bytes[at]!;
    let length: number;
    if (token >= 0xa0 && token < 0xc0) {
      length = token - 0xa0;
      this.#at = at + 1;
    } else if (token === 0xd9) {
      length = bytes[at + 1]!;
      this.#at = at + 2;
    } else if (token === 0xdb) {
      length = this.#uint32(at + 1);
      this.#at = at + 5;
    } else if (token === 0xda) {
      length = (bytes[at + 1]! << 8) | bytes[at + 2]!;
      this.#at = at + 3;
    } else throw broken("a text is missing");
    if (!(this.#at + length <= this.#end)) throw broken("a text leads beyond its frame");
    return length;
  }

  #uint32(at: number): number {
    const bytes = this.#bytes;
    return bytes[at]! * 0x100_0000 + ((bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!);
  }
}

export function broken(what: string): LimpetError {
  return new LimpetError("PROTOCOL", what);
}

function isSame(known: string, bytes: Buffer, at: number, length: number): boolean {
  if (known.length !== length) return false;
  for (let i = 0; i < length; i++) {
    const byte = bytes[at + i]!;
    // Beyond ASCII, the units of a string differ from the bytes of its encoding.
    if (byte > 0x7f || known.charCodeAt(i) !== byte) return false;
  }
  return true;
}

/** Returns undefined when the text is not ASCII. This loop is cheaper than a string from the runtime. */
function shortText(bytes: Buffer, from: number, length: number): string | undefined {
  for (let i = from; i < from + length; i++) if (bytes[i]! > 0x7f) return undefined;
  let at = from;
  let text = "";
  for (let left = length; left > 0; left -= 8, at += 8) text += upToEight(bytes, at, left);
  return text;
}

function upToEight(b: Buffer, at: number, length: number): string {
  switch (length) {
    case 1:
      return fromCharCode(b[at]!);
    case 2:
      return fromCharCode(b[at]!, b[at + 1]!);
    case 3:
      return fromCharCode(b[at]!, b[at + 1]!, b[at + 2]!);
    case 4:
      return fromCharCode(b[at]!, b[at + 1]!, b[at + 2]!, b[at + 3]!);
    case 5:
      return fromCharCode(b[at]!, b[at + 1]!, b[at + 2]!, b[at + 3]!, b[at + 4]!);
    case 6:
      return fromCharCode(b[at]!, b[at + 1]!, b[at + 2]!, b[at + 3]!, b[at + 4]!, b[at + 5]!);
    case 7:
      return fromCharCode(b[at]!, b[at + 1]!, b[at + 2]!, b[at + 3]!, b[at + 4]!, b[at + 5]!, b[at + 6]!);
    default:
      return fromCharCode(b[at]!, b[at + 1]!, b[at + 2]!, b[at + 3]!, b[at + 4]!, b[at + 5]!, b[at + 6]!, b[at + 7]!);
  }
}
