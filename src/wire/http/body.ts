// Reads the bytes of a request and parses them as arguments of a call. Bytes are counted on arrival: nothing
// beyond a limit is ever kept, whatever the headers announced.
import type { IncomingMessage, ServerResponse } from "node:http";
import { LimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import { checkId, checkReminderName, checkType } from "../../kernel/names.ts";
import type { ReminderName } from "../../ports/reminder-admin.ts";
import type { ByteBudget } from "../byte-budget.ts";
import { decodeExact, EXACT_TYPE, isDeeperThan } from "../exact.ts";

const NOTHING = Buffer.alloc(0);
const utf8 = new TextDecoder("utf-8", { fatal: true });

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** Rejects a body by its headers alone. */
export function checkBodyHeaders({ headers }: IncomingMessage, maxBytes: number): void {
  const coding = headers["content-encoding"];
  if (coding !== undefined && coding.toLowerCase() !== "identity") {
    throw new LimpetError("ENCODING_UNSUPPORTED", "send the body as it is: a content-encoding is not supported");
  }
  if (Number(headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
}

const tooLarge = (maxBytes: number) =>
  new LimpetError("BODY_TOO_LARGE", `the body is larger than ${maxBytes} bytes, which is the limit`);

export interface BodyReading {
  readonly maxBytes: number;
  readonly budget: ByteBudget;
  /** Called for every byte taken from the budget; the caller gives them back. */
  readonly onTaken: (bytes: number) => void;
  /** The client waits for `100 Continue` before it sends. */
  readonly expectsContinue: boolean;
}

export function readBody(request: IncomingMessage, response: ServerResponse, reading: BodyReading): Promise<Buffer> {
  const { maxBytes, budget, onTaken, expectsContinue } = reading;
  if (!hasBody(request)) return Promise.resolve(NOTHING);
  if (expectsContinue) response.writeContinue();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const settle = () => request.off("data", onData).off("end", onEnd).off("close", onClose);
    const refuse = (error: LimpetError) => {
      settle().pause();
      reject(error);
    };
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBytes) return refuse(tooLarge(maxBytes));
      if (!budget.take(chunk.length))
        return refuse(new LimpetError("HOST_FULL", "too many large requests are in progress; retry later"));
      onTaken(chunk.length);
      chunks.push(chunk);
    };
    const onEnd = () => {
      settle();
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size));
    };
    const onClose = () => refuse(new LimpetError("CALL_CANCELLED", "the client went away"));
    // A broken connection is also closed; its error adds no information.
    request
      .on("data", onData)
      .on("end", onEnd)
      .on("close", onClose)
      .on("error", () => {});
  });
}

export function isExactType(contentType: string | undefined): boolean {
  return contentType !== undefined && contentType.split(";")[0]!.trim().toLowerCase() === EXACT_TYPE;
}

/** The parsed body, in either encoding; undefined when there is none. */
export function parseBody(bytes: Buffer, exact: boolean): unknown {
  if (bytes.length === 0) return undefined;
  const json = parseJson(decodeText(bytes), exact);
  return exact ? decodeExact(json) : json;
}

/** An empty body is no arguments, an array is the arguments, any other value is one argument. */
export function parseCallArguments(bytes: Buffer, exact: boolean): readonly unknown[] {
  if (bytes.length === 0) return [];
  const value = parseBody(bytes, exact);
  if (!Array.isArray(value)) return [value];
  if (value.length <= LIMITS.httpArguments) return value;
  const advice = `a call has at most ${LIMITS.httpArguments}; send a long list as one argument: [[…]]`;
  throw new LimpetError("BODY_INVALID", `the body is a list of ${value.length} arguments; ${advice}`);
}

/** `{"host": "…"}`: the host that must hand over its actors, by address or name. */
export function parseDrain(bytes: Buffer): string {
  const asked = parseTexts(bytes, ["host"]);
  if (asked !== undefined) return asked.host;
  throw new LimpetError("BODY_INVALID", 'the body must be {"host": "…"}, with the address or the name of a host');
}

/** `{"type": "…", "id": "…"}`: the sticky actor to release. */
export function parseRelease(bytes: Buffer): { readonly type: string; readonly id: string } {
  const asked = parseTexts(bytes, ["type", "id"]);
  if (asked === undefined) {
    throw new LimpetError("BODY_INVALID", 'the body must be {"type": "…", "id": "…"}, which name a sticky actor');
  }
  checkType(asked.type);
  checkId(asked.id);
  return asked;
}

/** `{"type": "…", "id": "…", "name": "…"}`: the dead reminder to retry or to drop. */
export function parseReminderName(bytes: Buffer): ReminderName {
  const asked = parseTexts(bytes, ["type", "id", "name"]);
  if (asked === undefined) {
    const problem = 'the body must be {"type": "…", "id": "…", "name": "…"}, which name a dead reminder';
    throw new LimpetError("BODY_INVALID", problem);
  }
  checkType(asked.type);
  checkId(asked.id);
  checkReminderName(asked.name);
  return asked;
}

/**
 * Parses an object with exactly these keys and texts as values. An unknown key is rejected, because it could
 * be a request that is not fulfilled.
 */
function parseTexts<Key extends string>(bytes: Buffer, keys: readonly Key[]): Record<Key, string> | undefined {
  const asked = parseBody(bytes, false);
  if (typeof asked !== "object" || asked === null || Object.keys(asked).length !== keys.length) return undefined;
  const texts = asked as Record<Key, unknown>;
  const fine = keys.every((key) => typeof texts[key] === "string" && texts[key] !== "");
  return fine ? (texts as Record<Key, string>) : undefined;
}

function decodeText(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new LimpetError("BODY_INVALID", "the body is not UTF-8");
  }
}

function parseJson(text: string, exact: boolean): unknown {
  // The list of arguments is one level of its own, and a tag at most doubles the levels of its value.
  if (isDeeperThan(text, (exact ? 2 : 1) * LIMITS.valueDepth + 2)) {
    throw new LimpetError("BODY_INVALID", `the body is nested deeper than ${LIMITS.valueDepth}`);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new LimpetError("BODY_INVALID", `the body is not JSON: ${(error as Error).message}`);
  }
}
