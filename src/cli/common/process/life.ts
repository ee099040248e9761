// Runs a process until it receives a stop request: open, report, wait, drain, stop. `limpet dev` and `limpet
// scheduler` use it with different apps and messages.

import type { App } from "../../../host/app.ts";
import { systemClock } from "../../../host/system.ts";
import { firstOwnFrame } from "../../dev/import-failure.ts";
import type { Context } from "../command.ts";
import { EXIT, Failure } from "../failure.ts";
import { stopRequest } from "./stop-request.ts";

/** Time that a stop may take beyond the drain timeout. */
const STOP_GRACE_MS = 5_000;

export interface Opened {
  readonly app: App;
  /** For programs. */
  readonly ready: object;
  /** For display. */
  readonly banner: string;
}

export interface ProcessLife {
  open(): Promise<Opened>;
  /** Maps an uncaught error during opening. */
  openingFailed(error: unknown): unknown;
  /** The file to name in messages of later uncaught errors. */
  readonly source?: string;
  /** The message at a stop. */
  readonly stopping: string;
  readonly drainTimeoutMs: number;
}

/** Resolves with the exit code. */
export async function live(context: Context, life: ProcessLife): Promise<number> {
  const { terminal, json } = context;
  const stopping = stopRequest({ catchErrors: true });
  const first = await Promise.race([life.open(), stopping]);
  if ("abruptExit" in first) {
    if (first.uncaught !== undefined) throw life.openingFailed(first.uncaught.error);
    return first.abruptExit;
  }
  const { app, ready, banner } = first;
  terminal.line(json ? JSON.stringify({ event: "ready", pid: process.pid, ...ready }) : banner);
  const { uncaught, quiet } = await stopping;
  if (uncaught !== undefined) printUncaught(uncaught.error, context, life.source);
  if (!quiet) print(context, `${life.stopping} Ctrl-C ends it at once.`);
  await stop(app, life.drainTimeoutMs);
  if (json) terminal.line(JSON.stringify({ event: "stopped" }));
  else if (!quiet) print(context, "Stopped.");
  return uncaught === undefined ? EXIT.ok : EXIT.failed;
}

async function stop(app: App, drainTimeoutMs: number): Promise<void> {
  const late = Promise.withResolvers<"late">();
  const timer = systemClock.after(drainTimeoutMs + STOP_GRACE_MS, () => late.resolve("late"));
  const outcome = await Promise.race([app.stop(), late.promise]);
  timer.cancel();
  if (outcome !== "late") return;
  throw new Failure("STOPPING", "the process did not stop in time and was ended", {
    hint: "A turn did not end; committed state is safe.",
  });
}

function printUncaught(error: unknown, context: Context, source: string | undefined): void {
  const place = error instanceof Error ? firstOwnFrame(error, context.cwd) : undefined;
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const from = source === undefined ? "" : ` in ${source}`;
  const message = `an uncaught error${from}: ${what}${place === undefined ? "" : ` (at ${place})`}`;
  if (context.json) context.terminal.errLine(JSON.stringify({ errorCode: "ACTOR_FAILED", message }));
  else context.terminal.errLine(`${context.terminal.paintErr("red", "limpet:")} ${message}`);
}

export function print({ terminal, json }: Context, text: string): void {
  if (!json) terminal.errLine(terminal.paintErr("dim", text));
}
