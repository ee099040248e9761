// The operations of `limpet workflows` on one workflow: start, signal, query, update, wake and end.

import { didYouMean } from "../../kernel/nearest.ts";
import { askAdmin } from "../common/admin.ts";
import { ask, askJson } from "../common/ask.ts";
import { type Context, type FlagValues, textFlag } from "../common/command.ts";
import { Failure, wrongUsage } from "../common/failure.ts";
import { shellWord } from "../common/phrases.ts";
import { printResult } from "../common/result-text.ts";
import type { Target } from "../common/target.ts";
import { safe } from "../common/terminal.ts";
import { choice, readAttributes } from "./workflow-listings.ts";

export const ACTS = ["start", "signal", "query", "update", "cancel", "terminate", "wake"] as const;
export type Act = (typeof ACTS)[number];

const IF_RUNNING = ["fail", "existing", "terminate"];
const IF_ENDED = ["start", "start unless completed", "fail", "existing"];
const CONTROL = "/v1.0/control/workflows";

export async function steer(context: Context, target: Target, act: Act, id: string | undefined): Promise<void> {
  switch (act) {
    case "start":
      return start(context, target, id);
    case "query":
    case "update":
      return askIt(context, target, act, id!);
    default:
      return send(context, target, act, id!);
  }
}

async function start({ terminal, flags, json }: Context, target: Target, id: string | undefined): Promise<void> {
  const type = textFlag(flags, "start")!;
  const fields = {
    type,
    id,
    queue: textFlag(flags, "queue"),
    build: textFlag(flags, "build"),
    ifRunning: choice("if-running", textFlag(flags, "if-running"), IF_RUNNING),
    ifEnded: choice("if-ended", textFlag(flags, "if-ended"), IF_ENDED),
    delay: textFlag(flags, "delay"),
    attributes: readAttributes(flags),
    runTimeout: textFlag(flags, "run-timeout"),
    timeout: textFlag(flags, "total-timeout"),
  };
  const body = bodyOf(fields, { input: readJson(flags, "input"), memo: readJson(flags, "memo") });
  const started = await askJson<{ workflowId: string; runId: string }>(target, {
    verb: "POST",
    path: `${CONTROL}/start`,
    body,
  });
  if (json) {
    terminal.json({ started });
    return;
  }
  const { workflowId, runId } = started;
  const { workers } = await askAdmin(target, { kind: "workers" });
  const types = new Set(workers.filter(({ isLive }) => isLive).flatMap((each) => each.types));
  terminal.line(
    safe(`${workflowId} is started as run ${runId}. To follow it: limpet workflows ${shellWord(workflowId)}`),
  );
  if (types.has(type)) return;
  const guess = didYouMean(type, types, String) || ".";
  terminal.errLine(safe(`It waits: no live worker has a workflow ${type}${guess}`));
}

async function askIt(context: Context, target: Target, act: "query" | "update", id: string): Promise<void> {
  const { flags } = context;
  const name = textFlag(flags, act)!;
  const body = bodyOf({ id, run: textFlag(flags, "run"), name }, { input: readJson(flags, "input") });
  const text = await ask(target, { verb: "POST", path: `${CONTROL}/${act}`, body }).catch((error: unknown) => {
    throw thrownBy(`${act} ${name} of ${id}`, error);
  });
  printResult(text, context);
}

/** Makes clear that the workflow threw the error, not the command. */
function thrownBy(what: string, error: unknown): unknown {
  if (!(error instanceof Failure) || error.errorCode !== "ACTOR_FAILED") return error;
  return new Failure(error.code, `${what} threw ${error.message}`, { cause: error });
}

const DONE = {
  signal: "is signalled",
  cancel: "is requested to cancel",
  terminate: "is terminated",
  wake: "is woken",
} as const;
const WORDS = { signal: "signalled", cancel: "cancelled", terminate: "terminated", wake: "woken" } as const;

async function send(context: Context, target: Target, act: keyof typeof DONE, id: string): Promise<void> {
  const { terminal, flags, json } = context;
  const named = act === "signal" ? { name: textFlag(flags, "signal") } : {};
  const fields = { id, run: textFlag(flags, "run"), ...named, reason: textFlag(flags, "reason") };
  const body = bodyOf(fields, { input: readJson(flags, "input") });
  await ask(target, { verb: "POST", path: `${CONTROL}/${act}`, body });
  if (json) terminal.json({ [WORDS[act]]: { id, run: fields.run, ...named } });
  else terminal.line(safe(`${id} ${DONE[act]}. To follow it: limpet workflows ${shellWord(id)}`));
}

/** Validated as JSON and passed on as typed, so that long numbers keep all digits. */
function readJson(flags: FlagValues, flag: "input" | "memo"): string | undefined {
  const text = textFlag(flags, flag);
  if (text === undefined) return undefined;
  try {
    JSON.parse(text);
    return text;
  } catch {
    throw wrongUsage(
      `--${flag} is not JSON: ${text === "" ? "it is empty" : text}`,
      `If you mean a text, quote it once for JSON and once for the shell: --${flag} ${shellWord(JSON.stringify(text))}`,
    );
  }
}

function bodyOf(fields: object, raw: Readonly<Record<string, string | undefined>>): string {
  const parts = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  for (const [name, text] of Object.entries(raw)) if (text !== undefined) parts.push(`${JSON.stringify(name)}:${text}`);
  return `{${parts.join(",")}}`;
}
