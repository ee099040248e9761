// Removes secrets and payloads from text and errors before they are logged.

export const REDACTED = "[redacted]";

const SECRET = /token|passw(or)?d|authorization|secret|credential|cookie/i;
// Secrets inside texts: the password of a URL, and the text behind the name of an authorization scheme.
const IN_URL = /(\b[a-z][a-z0-9+.-]*:\/\/[^\s/?#:@]*):[^\s/?#]*@/gi;
const AFTER_SCHEME = /\b(bearer|basic)\s+[\w.~+/=-]+/gi;

const MAX_TEXT = 8 * 1024;
const MAX_CAUSES = 4;

export function isSecretName(name: string): boolean {
  return SECRET.test(name);
}

/** A text for display: without passwords, and of limited length. */
export function scrub(text: string): string {
  const short = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}… (${text.length} characters)` : text;
  return short.replace(IN_URL, `$1:${REDACTED}@`).replace(AFTER_SCHEME, `$1 ${REDACTED}`);
}

export interface DescribedError {
  readonly name: string;
  readonly code?: string | number;
  readonly message: string;
  readonly stack?: string;
  readonly cause?: DescribedError;
}

/**
 * Describes an error by its name, code, message and causes. A thrown value that is not an error is not shown:
 * it may be data.
 */
export function describeError(error: unknown, depth = 0): DescribedError {
  try {
    if (!(error instanceof Error)) return { name: "NonError", message: `a value of type ${typeof error} was thrown` };
    const { code, stack, cause } = error as Error & { code?: unknown };
    return {
      name: scrub(String(error.name)),
      ...(typeof code === "string" ? { code: scrub(code) } : typeof code === "number" ? { code } : {}),
      message: scrub(String(error.message)),
      ...(typeof stack === "string" ? { stack: scrub(stack) } : {}),
      ...(cause !== undefined && depth < MAX_CAUSES ? { cause: describeError(cause, depth + 1) } : {}),
    };
  } catch {
    return { name: "NonError", message: "an error that cannot be read was thrown" };
  }
}
