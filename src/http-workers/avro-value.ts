// Encodes values for workers in other languages: Avro's single-object encoding of one fixed schema, a union
// of null, boolean, long, double, bytes, string, array and map. Histories keep values in JSON-ready form
// (kernel/values.ts). The translation keeps whole numbers that were doubles as doubles. Types that only
// JavaScript has are encoded as the nearest available type.
import { isLimpetError, LimpetError } from "../kernel/errors.ts";
import { LIMITS } from "../kernel/limits.ts";
import type { Wire } from "../workflows/engine/events.ts";

/** Marks the encoding, and names the schema by its fingerprint. */
const HEAD = Buffer.from("c301e2a33dff55802237", "hex");
const KIND = { null: 0, boolean: 1, long: 2, double: 3, bytes: 4, string: 5, array: 6, map: 7 } as const;
/** Whole numbers up to this are numbers on both sides. */
const SAFE = BigInt(Number.MAX_SAFE_INTEGER);
const MOST = 2n ** 63n;

/** The first word of the message is the name of the problem in other languages. */
const broken = (name: string, what: string): LimpetError => new LimpetError("ARGUMENT_INVALID", `${name}: ${what}`);

/** Returns base64. */
export function encodeAvro(wire: Wire): string {
  const chunks: Buffer[] = [HEAD];
  write(chunks, wire, 0);
  return Buffer.concat(chunks).toString("base64");
}

export function decodeAvro(blob: string): Wire {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(blob)) throw broken("invalid_payload_framing", "the payload is not base64");
  const bytes = Buffer.from(blob, "base64");
  if (bytes.length < HEAD.length || bytes[0] !== HEAD[0] || bytes[1] !== HEAD[1]) {
    throw broken("invalid_payload_framing", "the payload does not begin as an Avro single object (c301)");
  }
  if (!bytes.subarray(0, HEAD.length).equals(HEAD)) {
    throw broken("unsupported_payload_schema", `there is no schema ${bytes.toString("hex", 2, HEAD.length)}`);
  }
  const reader = new Reader(bytes, HEAD.length);
  const wire = reader.value(0);
  reader.end();
  return wire;
}

// ——— Encoding.

function write(chunks: Buffer[], wire: Wire, depth: number): void {
  if (depth > LIMITS.valueDepth) throw broken("unsupported_value_type", "the value is nested too deeply");
  if (wire === null || wire === undefined) {
    chunks.push(long(KIND.null));
  } else if (typeof wire === "boolean") {
    chunks.push(long(KIND.boolean), Buffer.from([wire ? 1 : 0]));
  } else if (typeof wire === "string") {
    writeBytes(chunks, KIND.string, Buffer.from(wire));
  } else if (typeof wire === "number") {
    writeNumber(chunks, wire);
  } else if (Array.isArray(wire)) {
    writeItems(chunks, wire, depth);
  } else if (typeof wire === "object") {
    const fields = wire as Record<string, unknown>;
    if (Object.hasOwn(fields, "$")) writeTagged(chunks, String(fields.$), fields.v, depth);
    else writeEntries(chunks, Object.entries(fields), depth);
  } else {
    throw broken("unsupported_value_type", `a ${typeof wire} cannot travel`);
  }
}

function writeNumber(chunks: Buffer[], number: number): void {
  if (Number.isSafeInteger(number) && !Object.is(number, -0)) chunks.push(long(KIND.long), long(number));
  else writeDouble(chunks, number);
}

function writeDouble(chunks: Buffer[], number: number): void {
  if (!Number.isFinite(number)) throw broken("non_finite_float", `${number} cannot travel`);
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(number);
  chunks.push(long(KIND.double), bytes);
}

function writeBytes(chunks: Buffer[], kind: number, bytes: Buffer): void {
  chunks.push(long(kind), long(bytes.length), bytes);
}

/** Arrays and maps are written as blocks: the count, the items, and a zero. */
function writeItems(chunks: Buffer[], items: readonly unknown[], depth: number): void {
  chunks.push(long(KIND.array));
  if (items.length > 0) chunks.push(long(items.length));
  for (const item of items) write(chunks, item, depth + 1);
  chunks.push(long(0));
}

function writeEntries(chunks: Buffer[], entries: readonly (readonly [unknown, unknown])[], depth: number): void {
  chunks.push(long(KIND.map));
  if (entries.length > 0) chunks.push(long(entries.length));
  for (const [key, item] of entries) {
    if (typeof key !== "string") throw broken("invalid_map_key", "the keys of a map must be texts");
    const bytes = Buffer.from(key);
    chunks.push(long(bytes.length), bytes);
    write(chunks, item, depth + 1);
  }
  chunks.push(long(0));
}

function writeTagged(chunks: Buffer[], tag: string, v: unknown, depth: number): void {
  switch (tag) {
    case "undefined":
      write(chunks, null, depth);
      break;
    case "number":
      writeDouble(chunks, Number(v));
      break;
    case "bigint":
      writeBigint(chunks, BigInt(String(v)));
      break;
    case "date":
      write(chunks, isDate(v) ? new Date(v).toISOString() : null, depth);
      break;
    case "bytes":
    case "buffer":
      writeBytes(chunks, KIND.bytes, Buffer.from(String(v), "base64"));
      break;
    case "set":
      writeItems(chunks, v as unknown[], depth);
      break;
    case "map":
      writeEntries(chunks, v as [unknown, unknown][], depth);
      break;
    case "object":
    case "bare":
      writeEntries(chunks, Array.isArray(v) ? (v as [unknown, unknown][]) : Object.entries(v as object), depth);
      break;
    default:
      throw broken("unsupported_value_type", `${tag} cannot travel`);
  }
}

function writeBigint(chunks: Buffer[], number: bigint): void {
  if (number < -MOST || number >= MOST) throw broken("integer_overflow", `${number} needs more than 64 bits`);
  chunks.push(long(KIND.long), long(number));
}

/** Zigzag, seven bits to a byte. */
function long(number: number | bigint): Buffer {
  const big = BigInt(number);
  let rest = big < 0n ? -big * 2n - 1n : big * 2n;
  const bytes: number[] = [];
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

// ——— Decoding.

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

class Reader {
  readonly #bytes: Buffer;
  #at: number;

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.#at = at;
  }

  end(): void {
    if (this.#at !== this.#bytes.length) throw broken("invalid_payload_framing", "there are bytes behind the value");
  }

  value(depth: number): Wire {
    if (depth > LIMITS.valueDepth) throw broken("unsupported_value_type", "the value is nested too deeply");
    switch (Number(this.#long())) {
      case KIND.null:
        return null;
      case KIND.boolean:
        return this.#boolean();
      case KIND.long:
        return whole(this.#long());
      case KIND.double:
        return double(this.#take(8).readDoubleLE());
      case KIND.bytes:
        return { $: "bytes", v: this.#take(this.#length()).toString("base64") };
      case KIND.string:
        return this.#text();
      case KIND.array:
        return this.#items(depth);
      case KIND.map:
        return this.#entries(depth);
      default:
        throw broken("invalid_payload_framing", "there is a kind of value that the schema does not have");
    }
  }

  #boolean(): boolean {
    const byte = this.#take(1)[0]!;
    if (byte > 1) throw broken("invalid_payload_framing", "a boolean is neither true nor false");
    return byte === 1;
  }

  #items(depth: number): Wire {
    const items: unknown[] = [];
    this.#blocks(() => items.push(this.value(depth + 1)));
    return items;
  }

  #entries(depth: number): Wire {
    const entries: [string, unknown][] = [];
    this.#blocks(() => entries.push([this.#text(), this.value(depth + 1)]));
    return asFields(entries);
  }

  /** A block with a negative count also has a byte count, which is not needed here. */
  #blocks(one: () => void): void {
    for (;;) {
      let count = this.#long();
      if (count === 0n) return;
      if (count < 0n) {
        count = -count;
        this.#length();
      }
      // Every item has at least one byte, so a higher count is invalid.
      if (count > BigInt(this.#bytes.length))
        throw broken("invalid_payload_framing", "a list is longer than its bytes");
      for (let left = Number(count); left > 0; left--) one();
    }
  }

  #text(): string {
    try {
      return utf8.decode(this.#take(this.#length()));
    } catch (error) {
      if (isLimpetError(error)) throw error;
      throw broken("invalid_payload_framing", "a text is not UTF-8");
    }
  }

  #length(): number {
    const length = this.#long();
    if (length < 0n || length > BigInt(this.#bytes.length)) throw broken("invalid_payload_framing", "it is cut off");
    return Number(length);
  }

  #take(count: number): Buffer {
    const from = this.#at;
    this.#at += count;
    if (this.#at > this.#bytes.length) throw broken("invalid_payload_framing", "it is cut off");
    return this.#bytes.subarray(from, this.#at);
  }

  #long(): bigint {
    let [rest, shift] = [0n, 0n];
    for (;;) {
      const byte = this.#take(1)[0]!;
      rest |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) break;
      shift += 7n;
      if (shift > 63n) throw broken("integer_overflow", "a number has more than 64 bits");
    }
    if (rest >= 2n ** 64n) throw broken("integer_overflow", "a number has more than 64 bits");
    return (rest & 1n) === 1n ? -(rest >> 1n) - 1n : rest >> 1n;
  }
}

const whole = (number: bigint): Wire =>
  number >= -SAFE && number <= SAFE ? Number(number) : { $: "bigint", v: String(number) };

function double(number: number): Wire {
  if (!Number.isFinite(number)) throw broken("non_finite_float", `${number} cannot be kept`);
  if (!Number.isInteger(number)) return number;
  // The value must be encoded as a double again, although JSON does not distinguish 7.0 from 7.
  if (Object.is(number, -0)) return { $: "number", v: "-0" };
  return { $: "number", v: Number.isSafeInteger(number) ? `${number}.0` : String(number) };
}

/** Keys that JSON escapes, or that have a meaning in the JSON-ready form, are written as pairs. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes control characters.
const ESCAPED = /["\\\u0000-\u001f\ud800-\udfff]/;

function asFields(entries: readonly [string, unknown][]): Wire {
  if (entries.some(([key]) => ESCAPED.test(key))) return { $: "object", v: entries };
  const fields: Record<string, unknown> = Object.fromEntries(entries);
  return Object.hasOwn(fields, "$") ? { $: "object", v: fields } : fields;
}

/** A number beyond all dates is no date, and an invalid date is written as null. */
const isDate = (v: unknown): v is number => typeof v === "number" && !Number.isNaN(new Date(v).getTime());
