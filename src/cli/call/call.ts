// limpet call <type> <id> <method> [json…]

import { formatDuration } from "../../kernel/durations.ts";
import { checkId, checkMethod, checkType } from "../../kernel/names.ts";
import { ask } from "../common/ask.ts";
import type { CliCommand } from "../common/command.ts";
import { asUsage, EXIT, Failure, wrongUsage } from "../common/failure.ts";
import { shellWord } from "../common/phrases.ts";
import { printResult } from "../common/result-text.ts";
import { resolveTarget, TARGET_FLAGS } from "../common/target.ts";

export const callCommand: CliCommand = {
  name: "call",
  summary: "Call a method of an actor",
  about: "Arguments are JSON. The result is JSON on stdout; a method without a result prints nothing.",
  arguments: [
    { name: "type", help: "The actor's type, such as Cart." },
    { name: "id", help: "The actor's id. It need not exist yet." },
    { name: "method", help: "The method to call." },
    {
      name: "argument",
      optional: true,
      rest: true,
      help: `JSON: ${shellWord('"tea"')}, 5, true, ${shellWord('{"size":2}')}`,
    },
  ],
  flags: TARGET_FLAGS,
  examples: [
    `limpet call Cart alice add ${shellWord('"tea"')}`,
    `limpet call Stock tea reserve 2 ${shellWord('{"until":"noon"}')}`,
    "limpet call Cart alice items --url http://127.0.0.1:8000 --json",
  ],
  async run(context) {
    const [type, id, method, ...args] = context.args as [string, string, string, ...string[]];
    asUsage(() => {
      checkType(type);
      checkId(id);
      checkMethod(method);
    });
    args.forEach((text, index) => {
      if (!isJson(text)) throw notJson(text, index, context.args);
    });
    const target = resolveTarget(context);
    const path = ["actors", type, id, "method", method].map(encodeURIComponent).join("/");
    const text = await ask(target, {
      verb: "POST",
      path: `/v1.0/${path}`,
      body: `[${args.join(",")}]`,
      headers: target.timeoutAsked ? { "limpet-timeout": formatMs(target.timeoutMs) } : {},
    }).catch((error: unknown) => {
      throw thrownBy(`${method} of ${type} ${id}`, error);
    });
    printResult(text, context);
    return EXIT.ok;
  },
};

// formatDuration rounds to seconds for display; a timeout must be exact.
const formatMs = (ms: number): string => (ms % 1_000 === 0 ? formatDuration(ms) : `${ms}ms`);

/** Makes clear that the actor threw the error, not the command. */
function thrownBy(what: string, error: unknown): unknown {
  if (!(error instanceof Failure) || error.errorCode !== "ACTOR_FAILED") return error;
  return new Failure(error.code, `${what} threw ${error.message}`, { cause: error });
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function notJson(text: string, index: number, all: readonly string[]): Failure {
  // Nearly always the argument is a bare word, or the shell removed its quotes.
  const repaired = all
    .map((word, at) => (at === index + 3 ? JSON.stringify(word) : word))
    .map((word) => shellWord(word));
  return wrongUsage(
    `argument ${index + 1} is not JSON: ${text === "" ? "it is empty" : text}`,
    `If you mean a text, quote it once for JSON and once for the shell:\nlimpet call ${repaired.join(" ")}`,
  );
}
