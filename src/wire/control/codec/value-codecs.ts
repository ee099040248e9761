// Codecs of the values in control messages. `read` checks a value of another process: an invalid one becomes
// PROTOCOL with a message that names the field. An own value that cannot be sent is a bug and fails an
// invariant.
import { invariant, LimpetError } from "../../../kernel/errors.ts";
import { LIMITS } from "../../../kernel/limits.ts";
import { nameProblem } from "../../../kernel/names.ts";
import type { Codec, Part } from "./codec.ts";

export function refuseMessage(what: string): never {
  throw new LimpetError("PROTOCOL", what);
}

const same = <T>(value: T): T => value;

/** A value that is the same on the wire. */
const checked = <T>(read: (value: T) => T): Codec<T, T> => ({ write: same, read });

export const FLAG = checked<boolean>(same);
export const NUMBER = checked<number>(same);

const MOST = BigInt(Number.MAX_SAFE_INTEGER);

export const wholeNumber = (what: string): Codec<number, bigint> => ({
  write(value) {
    invariant(Number.isSafeInteger(value) && value >= 0, `${what} is a whole number, not ${value}`);
    return BigInt(value);
  },
  read(value) {
    if (value < 0n || value > MOST) refuseMessage(`${what} must be a whole number from 0 to ${MOST}`);
    return Number(value);
  },
});

const name = (what: string, mostBytes: number): Codec<string, string> =>
  checked((value) => {
    const problem = nameProblem(value, mostBytes);
    return problem === undefined ? value : refuseMessage(`${what} ${problem}`);
  });

export const NAMESPACE = name("namespace", LIMITS.wordBytes);
export const TYPE = name("actor type", LIMITS.wordBytes);
export const ACTOR_ID = name("actor id", LIMITS.idBytes);

/**
 * A wall-clock time. Times travel as floating point numbers, which are cheaper to read than large integers.
 */
export const TIME: Codec<number, number> = {
  write(value) {
    invariant(isTime(value), `a time is a whole number of milliseconds since 1970, not ${value}`);
    return value;
  },
  read: (value) => (isTime(value) ? value : refuseMessage("a time must be a whole number of milliseconds since 1970")),
};

const isTime = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;

// Control characters would break a terminal or a log line.
// biome-ignore lint/suspicious/noControlCharactersInRegex: refusing control characters is the point.
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

function readText(value: string, what: string): string {
  if (value.length * 3 > LIMITS.idBytes && Buffer.byteLength(value) > LIMITS.idBytes) {
    refuseMessage(`${what} must be at most ${LIMITS.idBytes} bytes`);
  }
  if (CONTROL.test(value)) refuseMessage(`${what} must not contain control characters`);
  return value;
}

/** A text that only people, or the process that wrote it, interpret. */
export const plainText = (what: string): Codec<string, string> => checked((value) => readText(value, what));

export const id = (what: string): Codec<string, string> =>
  checked((value) => (value === "" ? refuseMessage(`${what} is missing`) : readText(value, what)));

export const INCARNATION = id("the incarnation of a host");
export const HOST_NAME = plainText("the name of a host");
export const BUILD = plainText("the build of a host");

/** Truncates a reason for display to its size limit. */
export function cutReason(value: string): string {
  const reason = value.toWellFormed();
  if (Buffer.byteLength(reason) <= LIMITS.reasonBytes) return reason;
  // A character that was cut in two decodes as a replacement character, which takes three bytes.
  return Buffer.from(reason).toString("utf8", 0, LIMITS.reasonBytes - 3);
}

export const REASON: Codec<string, string> = { write: cutReason, read: cutReason };

// ——— Addresses.

const PATTERN = /^(?<host>\[[0-9a-f:.]+(?:%[\w.-]+)?\]|[^\s:[\]/?#@\\]+):(?<port>[1-9]\d{0,4})$/i;

/** Host and port of an address, with IPv6 in brackets; undefined when the text is not an address. */
export function parseControlAddress(address: string): { readonly host: string; readonly port: number } | undefined {
  const { host, port } = PATTERN.exec(address)?.groups ?? {};
  return host === undefined || Number(port) > 65_535 ? undefined : { host, port: Number(port) };
}

export const address = (what: string): Codec<string, string> =>
  checked((value) => {
    if (parseControlAddress(readText(value, what)) === undefined)
      refuseMessage(`${what} must be an address like 10.0.0.7:7400`);
    return value;
  });

export const ADDRESS = address("the address of a host");

/** An address with its separate port, the form in which hosts are introduced. */
export const ADDRESS_AND_PORT: Part<string, { name: string; port: bigint }> = {
  put(host, address) {
    const parsed = parseControlAddress(address);
    invariant(parsed !== undefined, `a host has an address, not ${JSON.stringify(address)}`);
    host.name = address;
    host.port = BigInt(parsed.port);
  },
  take({ name, port }) {
    const address = ADDRESS.read(name);
    if (BigInt(parseControlAddress(address)!.port) !== port)
      refuseMessage(`host ${address} has another port in its port field: ${port}`);
    return address;
  },
};

// ——— Words.

/** One of a few words; each has its own form on the wire. */
export function wireWords<T extends string, W>(
  wire: Readonly<Record<T, NoInfer<W>>>,
  unknown: (wire: NoInfer<W>) => string,
): Codec<T, W> {
  const known = new Map((Object.keys(wire) as T[]).map((word) => [wire[word] as W, word]));
  return { write: (word) => wire[word], read: (code) => known.get(code) ?? refuseMessage(unknown(code)) };
}

/** One of these words. */
export const oneWordOf = <T extends string>(
  known: readonly T[],
  unknown: (word: string) => string,
): Codec<T, string> => ({
  write: same,
  read: (word) => known.find((each) => each === word) ?? refuseMessage(unknown(word)),
});

// ——— Absent values.

export const optional = <T, W>({ write, read }: Codec<T, W>): Codec<T | undefined, W | undefined> => ({
  write: (value) => (value === undefined ? undefined : write(value)),
  read: (wire) => (wire === undefined ? undefined : read(wire)),
});

export const required = <T, W>({ write, read }: Codec<T, W>, missing: string): Codec<T, W | undefined> => ({
  write,
  read: (wire) => (wire === undefined ? refuseMessage(missing) : read(wire)),
});

/** The zero value or an empty list on the wire stands for an absent value. */
export const orAbsent = <T, W>({ write, read }: Codec<T, W>): Codec<T | undefined, W> => ({
  omits: true,
  write: (value) => (value === undefined ? undefined : write(value)) as W,
  read: (wire) => (!wire || (Array.isArray(wire) && wire.length === 0) ? undefined : read(wire)),
});

/** A host of an earlier release does not send the number; it reads as zero. */
export const orDefault = <W>({ write, read }: Codec<number, W>, value: number): Codec<number, W> => ({
  write,
  read: (wire) => read(wire) || value,
});

// ——— Collections.

/** An error about the limit names the items with `what`, and the scope of the limit with `per`. */
export function listOf<T, W>(
  { write, read }: Codec<T, W>,
  most = Number.POSITIVE_INFINITY,
  what = "items",
  per = "",
): Codec<readonly T[], W[]> {
  return {
    write(values) {
      invariant(values.length <= most, `a message carries ${most} ${what}, not ${values.length}`);
      return values.map(write);
    },
    read(values) {
      if (values.length > most) refuseMessage(`${values.length} ${what} are more than the limit of ${most}${per}`);
      return values.map(read);
    },
  };
}

/** Actor types without duplicates. */
export const types = (most = Number.POSITIVE_INFINITY): Codec<readonly string[], string[]> => ({
  write: (values) => [...values],
  read(values) {
    const { length } = values;
    if (length > most) refuseMessage(`${length} actor types are more than the limit of ${most} per host`);
    for (const value of values) TYPE.read(value);
    if (new Set(values).size < length) refuseMessage("an actor type is given twice");
    return values;
  },
});

export const byType = <T, W>({ write, read }: Codec<T, W>): Codec<ReadonlyMap<string, T>, Record<string, W>> => ({
  write: (map) => Object.fromEntries([...map].map(([type, value]) => [type, write(value)])),
  read: (record) => new Map(Object.entries(record).map(([type, wire]) => [TYPE.read(type), read(wire)])),
});

/** Rules for some types of a host; absent when there are none. */
export function rules<T, W>(
  codec: Codec<T, W>,
  what: string,
): Codec<ReadonlyMap<string, T> | undefined, Record<string, W>> {
  const { write, read } = byType(codec);
  const most = LIMITS.typesPerHost;
  return {
    omits: true,
    write: (map) => write(map ?? new Map()),
    read(record) {
      const { length } = Object.keys(record);
      if (length > most) refuseMessage(`${length} ${what} are more than the limit of ${most} per host`);
      return length === 0 ? undefined : read(record);
    },
  };
}
