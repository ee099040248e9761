// Text for error messages about values that application code returns or throws. Nothing here throws, whatever
// the value is.

/** Characters of a thrown value that an error message quotes. */
const MOST_TEXT = 1_000;

/**
 * A value thrown by application code, as text. It need not be an error, and an error need not have a message.
 */
export function thrownText(error: unknown): string {
  try {
    if (!(error instanceof Error)) return briefText(error);
    const text = String(error.message);
    return text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}…` : text;
  } catch {
    return "something that cannot be read";
  }
}

/** A returned value, as text. Converting an object may throw, and a long text may be a whole message. */
export function briefText(value: unknown): string {
  if (typeof value === "object" && value !== null) return value instanceof Promise ? "a promise" : "an object";
  return typeof value === "string" && value.length > 60 ? "a text" : String(value);
}

/**
 * Ignores the failure of a promise from code that must be synchronous; an unhandled rejection would end the
 * process.
 */
export function ignoreRejection(value: unknown): void {
  if (value instanceof Promise) value.catch(() => {});
}
