// Prints results as JSON with unchanged numbers: 12345678901234567890 keeps all digits.

import type { Context } from "./command.ts";

/** `text`: the body of the answer. In plain JSON a missing result arrives as `null`. */
export function printResult(text: string, { terminal, json }: Pick<Context, "terminal" | "json">): void {
  const hasResult = text !== "" && text !== "null";
  if (hasResult) terminal.line(reformatJson(text, terminal.isTTY && !json));
  else if (json) terminal.line("null");
}

interface ReviverContext {
  readonly source?: string;
}

interface ExactJson {
  parse(text: string, reviver: (key: string, value: unknown, context: ReviverContext) => unknown): unknown;
  rawJSON(text: string): unknown;
}

// Part of the language since 2025; the types of this TypeScript target lack it.
const exact = JSON as unknown as ExactJson;

export function reformatJson(text: string, pretty: boolean): string {
  const value = exact.parse(text, (_key, inner, { source }) => {
    return typeof inner === "number" && source !== undefined ? exact.rawJSON(source) : inner;
  });
  // JSON escapes most control characters; terminals also obey some that it does not escape.
  return JSON.stringify(value, null, pretty ? 2 : undefined).replace(
    /[\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
