// Limits the size of the payloads, errors and reasons that a history stores. Pure.
import { LimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import { type SerializedCause, type SerializedError, serializeError } from "../../kernel/serialized-error.ts";
import type { Wire } from "./events.ts";

/** Throws BODY_TOO_LARGE. */
export function checkPayload(wire: Wire, what: string): void {
  const most = LIMITS.workflowPayloadBytes;
  if (roomLeft(wire, most) >= 0) return;
  const bytes = Buffer.byteLength(JSON.stringify(wire) ?? "");
  if (bytes > most) throw new LimpetError("BODY_TOO_LARGE", `${what}: ${bytes} bytes, and ${most} are allowed`);
}

/**
 * A lower bound of the bytes that remain; negative: the value may be too large. Nearly all values are far
 * smaller, so they need no serialization for this check.
 */
function roomLeft(wire: Wire, room: number): number {
  if (typeof wire === "string") return room - wire.length * 6 - 2;
  if (typeof wire !== "object" || wire === null) return room - 24;
  let left = room - 2;
  if (Array.isArray(wire)) {
    for (let i = 0; i < wire.length && left >= 0; i++) left = roomLeft(wire[i], left - 1);
    return left;
  }
  for (const key in wire) {
    if (left < 0) break;
    left = roomLeft((wire as Record<string, unknown>)[key], left - key.length * 6 - 4);
  }
  return left;
}

/** The longest message. Every replay reads the history again. */
const MOST_TEXT = 16_384;

/** Serializes any thrown value, as plain data of bounded size. */
export const keptError = (thrown: unknown): SerializedError => bounded(serializeError(thrown));

export function bounded(full: SerializedError): SerializedError {
  const { message, cause, error } = full;
  return {
    ...full,
    message: cut(message),
    cause: cause && boundedCause(cause),
    error: error && { ...error, cause: error.cause && boundedCause(error.cause) },
  };
}

const boundedCause = (cause: SerializedCause): SerializedCause => ({
  ...cause,
  message: cut(cause.message),
  cause: cause.cause && boundedCause(cause.cause),
});

const cut = (text: string): string => (text.length <= MOST_TEXT ? text : `${text.slice(0, MOST_TEXT)}…`).toWellFormed();

/** The reason of a cancellation or termination, bounded. */
export const keptReason = (reason: unknown): string => cut(String(reason));
