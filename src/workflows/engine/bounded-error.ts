// Serializes errors for the history as plain data of bounded size. Pure.
import { type SerializedCause, type SerializedError, serializeError } from "../../kernel/serialized-error.ts";

/** The longest message. Every replay reads the history again. */
const MOST_TEXT = 16_384;

/** Serializes any thrown value. */
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

/** The reason of a cancellation or termination, bounded. */
export const keptReason = (reason: unknown): string => cut(String(reason));
