// Encodes the values of state and calls: JSON, and beyond it Date, Map, Set, bigint, bytes, undefined, NaN,
// the infinities and minus zero. Decoding restores all of them exactly.
//
// The encoding is JSON text, so that a person can read a row. A value that JSON lacks becomes an object with
// one key "$": {"$":"date","v":0}. A plain object with its own key "$" is wrapped ({"$":"object","v":{…}}),
// so nothing is ambiguous. An object with keys that JSON must escape becomes pairs
// ({"$":"object","v":[["\"",1]]}). Values are trees: a cycle is rejected, and an object reached twice is
// decoded as two.

import type { ErrorCode } from "./errors.ts";
import { LimpetError } from "./errors.ts";
import { LIMITS } from "./limits.ts";

/** A proxy object (a draft of state) returns its target under this key. */
export const RAW: unique symbol = Symbol("limpet.raw");

export function unwrap<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  return ((value as { [RAW]?: T })[RAW] as T | undefined) ?? value;
}

/** Needs neither copying nor checking. */
export function isPlainPrimitive(value: unknown): boolean {
  return value === null || (typeof value !== "object" && typeof value !== "function" && typeof value !== "symbol");
}

/** A primitive that is always small: it needs no copy, no check and no count. */
export function isWeightless(value: unknown): boolean {
  return typeof value === "number" || typeof value === "boolean" || value === undefined || value === null;
}

/** JSON represents it unchanged. */
export function isJsonPrimitive(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0);
  return typeof value === "string" || typeof value === "boolean" || value === null;
}

/**
 * Encodes a value. `what` begins the path in the error ("state", "argument 1"), `code` is the error's code.
 */
export function encodeValue(value: unknown, what = "value", code: ErrorCode = "ARGUMENT_INVALID"): string {
  return JSON.stringify(toWire(value, what, code));
}

export function decodeValue(text: string): unknown {
  const wire: unknown = JSON.parse(text);
  return hasTags(text) ? fromWire(wire) : wire;
}

/** False: the text is the value's own JSON. */
export function hasTags(text: string): boolean {
  return text.includes('"$"');
}

/** The JSON-ready form of a value: itself where nothing in it needs a tag, so most values are not copied. */
export function toWire(value: unknown, what: string, code: ErrorCode, depth = 0): unknown {
  try {
    return wire(value, depth);
  } catch (error) {
    if (error !== UNSTORABLE && !(error instanceof RangeError)) throw error;
    throw new LimpetError(code, `${locate(value, what, depth) ?? what} cannot be stored`);
  }
}

// Counted while a value is copied, to avoid a second pass.
let weight = 0;
let lastWeight = 0;

/** The weight of the last copied value: one for a character, five for an item of a list or an object. */
export const copiedWeight = (): number => lastWeight;

/** A copy that shares nothing with the original. Drafts inside are replaced by copies of their targets. */
export function copyValue<T>(value: T, what: string, code: ErrorCode): T {
  weight = 0;
  try {
    const copied = copy(value, 0) as T;
    lastWeight = weight;
    return copied;
  } catch (error) {
    if (error !== UNSTORABLE && !(error instanceof RangeError)) throw error;
  }
  throw new LimpetError(code, `${locate(value, what, 0) ?? what} cannot be stored`);
}

/** Assigns without ever running the `__proto__` setter. */
export function putOwn(target: object, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    (target as Record<string, unknown>)[key] = value;
  }
}

// Thrown on the fast path, where tracking the path would slow down every value; `locate` then finds the
// place.
const UNSTORABLE: unique symbol = Symbol("unstorable");

type Tag = "undefined" | "number" | "bigint" | "date" | "map" | "set" | "bytes" | "buffer" | "object" | "bare";

const tagged = ($: Tag, v?: unknown): object => (v === undefined ? { $ } : { $, v });

function wire(value: unknown, depth: number): unknown {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      if (isJsonPrimitive(value)) return value;
      return tagged("number", Object.is(value, -0) ? "-0" : String(value));
    case "undefined":
      return tagged("undefined");
    case "bigint":
      return tagged("bigint", String(value));
    case "object":
      return value === null ? null : wireObject(unwrap(value), depth + 1);
    default:
      throw UNSTORABLE;
  }
}

function wireObject(value: object, depth: number): unknown {
  if (depth > LIMITS.valueDepth) throw UNSTORABLE;
  if (Array.isArray(value)) return wireArray(value, depth);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) {
    const body = wireFields(value as Record<string, unknown>, depth);
    if (prototype === null) return tagged("bare", body);
    return Array.isArray(body) || Object.hasOwn(value, "$") ? tagged("object", body) : body;
  }
  if (prototype === Date.prototype) return tagged("date", (value as Date).getTime() || dateGap(value as Date));
  if (prototype === Map.prototype) return tagged("map", wireArray([...(value as Map<unknown, unknown>)], depth));
  if (prototype === Set.prototype) return tagged("set", wireArray([...(value as Set<unknown>)], depth));
  if (prototype === Uint8Array.prototype) return tagged("bytes", asBuffer(value as Uint8Array).toString("base64"));
  if (prototype === Buffer.prototype) return tagged("buffer", (value as Buffer).toString("base64"));
  throw UNSTORABLE;
}

const dateGap = (date: Date): number | null => (Number.isNaN(date.getTime()) ? null : 0);
const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function wireArray(items: readonly unknown[], depth: number): unknown {
  let out: unknown[] | undefined;
  for (let i = 0; i < items.length; i++) {
    const item = items[i];
    if (item === undefined && !(i in items)) throw UNSTORABLE;
    const encoded = wire(item, depth);
    if (encoded !== item && out === undefined) out = items.slice(0, i);
    out?.push(encoded);
  }
  return out ?? items;
}

// A key that JSON writes with an escape. JSON.parse of some versions of V8 confuses such a key with one of an
// earlier object of the same shape ({"w":1,"\\":2}, then {"w":3,"\"":4}), so objects with such keys become
// lists of pairs.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are among what is escaped.
const ESCAPED = /["\\\u0000-\u001f\ud800-\udfff]/;

function wireFields(fields: Record<string, unknown>, depth: number): object {
  if (Object.getOwnPropertySymbols(fields).length > 0) throw UNSTORABLE;
  let out: Record<string, unknown> | undefined;
  const keys = Object.keys(fields);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!;
    if (ESCAPED.test(key)) return keys.map((each) => [each, wire(fields[each], depth)]);
    const item = fields[key];
    const encoded = wire(item, depth);
    if (encoded !== item && out === undefined) {
      out = {};
      for (let j = 0; j < i; j++) putOwn(out, keys[j]!, fields[keys[j]!]);
    }
    if (out !== undefined) putOwn(out, key, encoded);
  }
  return out ?? fields;
}

/** Decodes a JSON-ready form; untagged objects and arrays are reused. */
export function fromWire(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) value[i] = fromWire(value[i]);
    return value;
  }
  const fields = value as Record<string, unknown>;
  if (Object.hasOwn(fields, "$")) return fromTagged(fields.$ as Tag, fields.v);
  return fromFields(fields);
}

/** Decodes to a value that shares nothing with its source: the receiver may change it. */
export function readWire(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(readWire);
  const fields = value as Record<string, unknown>;
  if (Object.hasOwn(fields, "$")) {
    const { v } = fields;
    return fromTagged(fields.$ as Tag, typeof v === "object" ? structuredClone(v) : v);
  }
  const out = {};
  for (const key of Object.keys(fields)) putOwn(out, key, readWire(fields[key]));
  return out;
}

function fromFields(fields: Record<string, unknown>): object {
  for (const key of Object.keys(fields)) {
    const item = fields[key];
    if (typeof item === "object" && item !== null) putOwn(fields, key, fromWire(item));
  }
  return fields;
}

type Body = Record<string, unknown> | [string, unknown][];

function fromBody(body: Body): object {
  if (!Array.isArray(body)) return fromFields(body);
  const fields = {};
  for (const [key, item] of body) putOwn(fields, key, fromWire(item));
  return fields;
}

function fromTagged(tag: Tag, v: unknown): unknown {
  switch (tag) {
    case "undefined":
      return undefined;
    case "number":
      return Number(v);
    case "bigint":
      return BigInt(v as string);
    case "date":
      return new Date((v as number | null) ?? Number.NaN);
    case "map":
      return new Map(fromWire(v) as [unknown, unknown][]);
    case "set":
      return new Set(fromWire(v) as unknown[]);
    case "bytes":
      return new Uint8Array(Buffer.from(v as string, "base64"));
    case "buffer":
      return Buffer.from(v as string, "base64");
    case "object":
      return fromBody(v as Body);
    case "bare":
      return Object.setPrototypeOf(fromBody(v as Body), null);
    default:
      throw new LimpetError("ARGUMENT_INVALID", `unknown tag ${JSON.stringify(tag)} in an encoded value`);
  }
}

function copy(value: unknown, depth: number): unknown {
  if (typeof value === "string") {
    weight += value.length;
    return value;
  }
  if (isPlainPrimitive(value)) return value;
  if (typeof value !== "object") throw UNSTORABLE;
  return copyObject(unwrap(value) as object, depth + 1);
}

function copyObject(value: object, depth: number): object {
  if (depth > LIMITS.valueDepth) throw UNSTORABLE;
  if (Array.isArray(value)) return copyArray(value, depth);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) {
    if (Object.getOwnPropertySymbols(value).length > 0) throw UNSTORABLE;
    const out = prototype === null ? Object.create(null) : {};
    for (const key of Object.keys(value)) {
      weight += key.length + PLACE;
      putOwn(out, key, copy((value as Record<string, unknown>)[key], depth));
    }
    return out;
  }
  if (prototype === Date.prototype) return new Date((value as Date).getTime());
  if (prototype === Map.prototype) {
    const out = new Map<unknown, unknown>();
    weight += (value as Map<unknown, unknown>).size * 2 * PLACE;
    for (const [key, item] of value as Map<unknown, unknown>) out.set(copy(key, depth), copy(item, depth));
    return out;
  }
  if (prototype === Set.prototype) {
    const out = new Set<unknown>();
    weight += (value as Set<unknown>).size * PLACE;
    for (const item of value as Set<unknown>) out.add(copy(item, depth));
    return out;
  }
  if (prototype === Uint8Array.prototype || prototype === Buffer.prototype) {
    weight += (value as Uint8Array).length;
    return prototype === Buffer.prototype ? Buffer.from(value as Buffer) : (value as Uint8Array).slice();
  }
  throw UNSTORABLE;
}

/** The weight of an item in a list or an object, besides its value. */
const PLACE = 5;

function copyArray(items: readonly unknown[], depth: number): unknown[] {
  weight += items.length * PLACE;
  const out = new Array<unknown>(items.length);
  for (let i = 0; i < items.length; i++) {
    const item = items[i];
    if (item === undefined && !(i in items)) throw UNSTORABLE;
    out[i] = copy(item, depth);
  }
  return out;
}

/** The first place in a value that cannot be stored, with the reason: `state.items[3] (a function)`. */
function locate(given: unknown, path: string, depth: number): string | undefined {
  const value = unwrap(given);
  if (typeof value === "function") return `${path} (a function)`;
  if (typeof value === "symbol") return `${path} (a symbol)`;
  if (typeof value !== "object" || value === null) return undefined;
  if (depth >= LIMITS.valueDepth) return `${path.slice(0, 200)}… (nested deeper than ${LIMITS.valueDepth}, or a cycle)`;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      if (!(i in value)) return `${path}[${i}] (a hole in an array)`;
      const found = locate(value[i], `${path}[${i}]`, depth + 1);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  return locateInObject(value, path, depth);
}

function locateInObject(value: object, path: string, depth: number): string | undefined {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Map.prototype) {
    for (const [key, item] of value as Map<unknown, unknown>) {
      const name = `${path}.get(${typeof key === "string" ? JSON.stringify(key) : String(key)})`;
      const found = locate(key, `${path}, a key`, depth + 1) ?? locate(item, name, depth + 1);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (prototype === Set.prototype) {
    for (const item of value as Set<unknown>) {
      const found = locate(item, `${path}, a member`, depth + 1);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (prototype === Object.prototype || prototype === null) {
    const symbol = Object.getOwnPropertySymbols(value)[0];
    if (symbol !== undefined) return `${path}[${String(symbol)}] (a symbol as a key)`;
    for (const key of Object.keys(value)) {
      const name = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
      const found = locate((value as Record<string, unknown>)[key], path + name, depth + 1);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  const storable = [Date.prototype, Uint8Array.prototype, Buffer.prototype] as unknown[];
  if (storable.includes(prototype)) return undefined;
  const name = (value as { constructor?: { name?: string } }).constructor?.name || "unknown class";
  return `${path} (an instance of ${name})`;
}
