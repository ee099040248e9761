// Prints the result of a method, a query or an update: JSON, and for display nothing when there is none.
import type { Context } from "../command.ts";
import { reformatJson } from "../exact-json.ts";

/** `text`: the body of the answer. In plain JSON a missing result arrives as `null`. */
export function printResult(text: string, { terminal, json }: Pick<Context, "terminal" | "json">): void {
  const hasResult = text !== "" && text !== "null";
  if (hasResult) terminal.line(reformatJson(text, terminal.isTTY && !json));
  else if (json) terminal.line("null");
}
