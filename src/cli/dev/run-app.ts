// One life of an app under `limpet dev`: load, open, say so, wait, drain, stop.

import { relative } from "node:path";
import type { ActorClass } from "../../actors/remote.ts";
import { OPTIONS, type Settings } from "../../config/options.ts";
import { hostInUrl } from "../../config/places.ts";
import type { ResolvedSettings } from "../../config/settings.ts";
import { isLimpetError } from "../../kernel/errors.ts";
import { type App, openApp } from "../../nodes/app.ts";
import { VERSION } from "../../nodes/version.ts";
import type { Log } from "../../ports/log.ts";
import type { Context } from "../command.ts";
import { EXIT, Failure } from "../failure.ts";
import { banner, localCommands, type Ready } from "./banner.ts";
import { devLog } from "./dev-log.ts";
import { firstOwnFrame, importFailure } from "./import-failure.ts";
import { loadModule, typeNameOf } from "./load-module.ts";
import { ownCommand } from "./own-command.ts";
import { stopRequest } from "./stop-request.ts";
import { proposeCommands } from "./try-these.ts";

/** Ports tried after the usual one when nobody asked for a particular port. */
const MORE_PORTS = 9;
/** What a stop may take beyond the time it gives to running turns. */
const STOP_GRACE_MS = 5_000;

export async function runApp(context: Context, resolved: ResolvedSettings, file: string): Promise<number> {
  const { terminal, json, cwd } = context;
  const stopping = stopRequest({ catchErrors: true });
  const first = await Promise.race([start(context, resolved, file), stopping]);
  if ("abruptExit" in first) {
    if (first.uncaught !== undefined) throw importFailure(first.uncaught.error, file, cwd);
    return first.abruptExit;
  }
  const { app, ready } = first;
  if (json) terminal.line(JSON.stringify({ event: "ready", pid: process.pid, ...ready }));
  else terminal.line(banner(ready, terminal.paint));
  const { uncaught, quiet } = await stopping;
  if (uncaught !== undefined) sayUncaught(uncaught.error, context, relative(cwd, file));
  if (!quiet) say(context, "Stopping as soon as running turns are done; Ctrl-C ends it at once.");
  await stop(app, resolved.settings);
  if (json) terminal.line(JSON.stringify({ event: "stopped" }));
  else if (!quiet) say(context, "Stopped.");
  return uncaught === undefined ? EXIT.ok : EXIT.failed;
}

async function start(context: Context, resolved: ResolvedSettings, file: string): Promise<{ app: App; ready: Ready }> {
  const { actors, tryThese } = await loadModule(file, context.cwd);
  const log = devLog(resolved.settings.logLevel, context.terminal, context.json);
  const app = await openSomewhere(actors, resolved, log, context);
  return { app, ready: describe(app, resolved.settings, actors, tryThese, context) };
}

/** When the usual port is taken and was not asked for, the next free one will do. */
async function openSomewhere(
  actors: readonly ActorClass[],
  resolved: ResolvedSettings,
  log: Log,
  context: Context,
): Promise<App> {
  const { settings, origins } = resolved;
  const usual = settings.httpPort;
  const last = settings.http && origins.httpPort.source === "default" ? usual + MORE_PORTS : usual;
  for (let port = usual; ; port++) {
    try {
      const app = await openApp({ actors }, { ...settings, httpPort: port }, { log });
      if (port !== usual) say(context, `Port ${usual} is taken; using ${port}.`);
      return app;
    } catch (error) {
      if (!isLimpetError(error, "ADDRESS_IN_USE")) throw withDoctor(error);
      if (port < last) continue;
      const which = last === usual ? `port ${usual} is taken` : `all ports from ${usual} to ${last} are taken`;
      const hint = "limpet doctor says by whom. Choose another with --port, or any free one with --port 0.";
      throw new Failure("ADDRESS_IN_USE", which, { hint, cause: error });
    }
  }
}

function withDoctor(error: unknown): unknown {
  if (!isLimpetError(error) || !error.code.startsWith("STORE_")) return error;
  return new Failure(error.code, error.message, {
    hint: "limpet doctor looks at the store more closely.",
    cause: error,
  });
}

function describe(
  app: App,
  settings: Settings,
  actors: readonly ActorClass[],
  proposed: readonly string[],
  { env }: Context,
): Ready {
  const { store, namespace } = app.host.status();
  const url = app.url?.replace(/\/$/, "");
  const usual = `http://${hostInUrl(String(OPTIONS.httpHost.default))}:${OPTIONS.httpPort.default}`;
  const commands = proposed.length > 0 ? proposed : proposeCommands(actors);
  return {
    version: VERSION,
    readyInMs: Math.round(performance.now()),
    url,
    store,
    namespace,
    actorTypes: actors.map(typeNameOf),
    tryThese: localCommands(commands, ownCommand(env), url, usual),
    needsToken: settings.httpTokens.length > 0,
  };
}

async function stop(app: App, settings: Settings): Promise<void> {
  const late = Promise.withResolvers<"late">();
  const timer = setTimeout(() => late.resolve("late"), settings.drainTimeout + STOP_GRACE_MS);
  const outcome = await Promise.race([app.stop(), late.promise]);
  clearTimeout(timer);
  if (outcome !== "late") return;
  throw new Failure("STOPPING", "the app did not stop in time and was ended", {
    hint: "A turn that never ends holds it up; state that was committed is safe.",
  });
}

function sayUncaught(error: unknown, context: Context, shown: string): void {
  const place = error instanceof Error ? firstOwnFrame(error, context.cwd) : undefined;
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const message = `an error nobody caught in ${shown}: ${what}${place === undefined ? "" : ` (at ${place})`}`;
  if (context.json) context.terminal.errLine(JSON.stringify({ errorCode: "ACTOR_FAILED", message }));
  else context.terminal.errLine(`${context.terminal.paintErr("red", "limpet:")} ${message}`);
}

function say({ terminal, json }: Context, text: string): void {
  if (!json) terminal.errLine(terminal.paintErr("dim", text));
}
