// Errors as a history keeps them: told as plain data, and no more than some of what they say. Pure.
import { type SerializedCause, type SerializedError, serializeError } from "../../kernel/serialized-error.ts";

/** Of a message. A history is read again and again. */
const MOST_TEXT = 16_384;

/** Anything that was thrown. */
export const keptError = (thrown: unknown): SerializedError => bounded(serializeError(thrown));

export function bounded(told: SerializedError): SerializedError {
  const { message, cause, error } = told;
  return {
    ...told,
    message: cut(message),
    ...(cause !== undefined && { cause: boundedCause(cause) }),
    ...(error?.cause !== undefined && { error: { ...error, cause: boundedCause(error.cause) } }),
  };
}

const boundedCause = (told: SerializedCause): SerializedCause => ({
  ...told,
  message: cut(told.message),
  ...(told.cause !== undefined && { cause: boundedCause(told.cause) }),
});

const cut = (text: string): string => (text.length <= MOST_TEXT ? text : `${text.slice(0, MOST_TEXT)}…`).toWellFormed();

/** Why somebody wants a run to end. */
export const keptReason = (reason: unknown): string => cut(String(reason));
