// Checks of values from other processes. An invalid value becomes PROTOCOL with a message that names the
// field. An own value that cannot be sent is a bug and fails an invariant.
import { invariant, LimpetError } from "../../../kernel/errors.ts";
import { LIMITS } from "../../../kernel/limits.ts";
import { nameProblem } from "../../../kernel/names.ts";

export function refuseMessage(what: string): never {
  throw new LimpetError("PROTOCOL", what);
}

const MOST = BigInt(Number.MAX_SAFE_INTEGER);

export function readWhole(value: bigint, what: string): number {
  if (value < 0n || value > MOST) refuseMessage(`${what} must be a whole number from 0 to ${MOST}`);
  return Number(value);
}

export function writeWhole(value: number, what: string): bigint {
  invariant(Number.isSafeInteger(value) && value >= 0, `${what} is a whole number, not ${value}`);
  return BigInt(value);
}

/** Reads a namespace or an actor type. */
export function readWord(value: string, what: string): string {
  const problem = nameProblem(value, LIMITS.wordBytes);
  return problem === undefined ? value : refuseMessage(`${what} ${problem}`);
}

export function readActorId(value: string): string {
  const problem = nameProblem(value, LIMITS.idBytes);
  return problem === undefined ? value : refuseMessage(`actor id ${problem}`);
}

/**
 * Reads a wall-clock time. Times travel as floating point numbers, which are cheaper to read than large
 * integers.
 */
export function readTime(value: number): number {
  return isTime(value) ? value : refuseMessage("a time must be a whole number of milliseconds since 1970");
}

export function writeTime(value: number): number {
  invariant(isTime(value), `a time is a whole number of milliseconds since 1970, not ${value}`);
  return value;
}

const isTime = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;

/** Reads actor types without duplicates. */
export function readTypes(values: readonly string[], most = Number.POSITIVE_INFINITY): readonly string[] {
  if (values.length > most) refuseMessage(`${values.length} actor types are more than the limit of ${most} per host`);
  for (const value of values) readWord(value, "actor type");
  if (new Set(values).size < values.length) refuseMessage("an actor type is given twice");
  return values;
}

// Control characters would break a terminal or a log line.
// biome-ignore lint/suspicious/noControlCharactersInRegex: refusing control characters is the point.
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

/** Reads a text that only people, or the process that wrote it, interpret. */
export function readText(value: string, what: string): string {
  if (value.length * 3 > LIMITS.idBytes && Buffer.byteLength(value) > LIMITS.idBytes) {
    refuseMessage(`${what} must be at most ${LIMITS.idBytes} bytes`);
  }
  if (CONTROL.test(value)) refuseMessage(`${what} must not contain control characters`);
  return value;
}

export function readId(value: string, what: string): string {
  return value === "" ? refuseMessage(`${what} is missing`) : readText(value, what);
}

/** Truncates a reason for display to its size limit. */
export function cutReason(value: string): string {
  const reason = value.toWellFormed();
  if (Buffer.byteLength(reason) <= LIMITS.reasonBytes) return reason;
  // A character that was cut in two decodes as a replacement character, which takes three bytes.
  return Buffer.from(reason).toString("utf8", 0, LIMITS.reasonBytes - 3);
}

const ADDRESS = /^(?<host>\[[0-9a-f:.]+(?:%[\w.-]+)?\]|[^\s:[\]/?#@\\]+):(?<port>[1-9]\d{0,4})$/i;

/** Host and port of an address, with IPv6 in brackets; undefined when the text is not an address. */
export function parseControlAddress(address: string): { readonly host: string; readonly port: number } | undefined {
  const { host, port } = ADDRESS.exec(address)?.groups ?? {};
  return host === undefined || Number(port) > 65_535 ? undefined : { host, port: Number(port) };
}

export function readAddress(value: string, what: string): string {
  if (parseControlAddress(readText(value, what)) === undefined)
    refuseMessage(`${what} must be an address like 10.0.0.7:7400`);
  return value;
}

/** Reads an address and its separate port, the form in which hosts are introduced. */
export function readHostAddress(name: string, port: bigint): string {
  const address = readAddress(name, "the address of a host");
  if (BigInt(parseControlAddress(address)!.port) !== port)
    refuseMessage(`host ${address} has another port in its port field: ${port}`);
  return address;
}

export function writePort(address: string): bigint {
  const parsed = parseControlAddress(address);
  invariant(parsed !== undefined, `a host has an address, not ${JSON.stringify(address)}`);
  return BigInt(parsed.port);
}
