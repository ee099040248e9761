// Runs an app under `limpet dev`: loads the module, opens the app, and prints its state.

import { relative } from "node:path";
import { OPTIONS, type Settings } from "../../config/options.ts";
import { hostInUrl } from "../../config/places.ts";
import type { ResolvedSettings } from "../../config/settings.ts";
import { type App, openApp } from "../../host/app.ts";
import { VERSION } from "../../host/version.ts";
import type { Context } from "../common/command.ts";
import { glanceAtCluster } from "../common/process/cluster-glance.ts";
import { openSomewhere } from "../common/process/free-port.ts";
import { live, type Opened } from "../common/process/life.ts";
import { banner, localCommands, type Ready } from "./banner.ts";
import { devLog } from "./dev-log.ts";
import { importFailure } from "./import-failure.ts";
import { type LoadedModule, loadModule, typeNameOf } from "./load-module.ts";
import { ownCommand } from "./own-command.ts";
import { proposeCommands } from "./try-these.ts";

export function runApp(context: Context, resolved: ResolvedSettings, file: string): Promise<number> {
  return live(context, {
    open: () => open(context, resolved, file),
    openingFailed: (error) => importFailure(error, file, context.cwd),
    source: relative(context.cwd, file),
    stopping: "Stopping as soon as running turns are done;",
    drainTimeoutMs: resolved.settings.drainTimeout,
  });
}

async function open(context: Context, resolved: ResolvedSettings, file: string): Promise<Opened> {
  const { terminal, json, cwd } = context;
  const module = await loadModule(file, cwd);
  const { actors, workflows, activities } = module;
  const log = devLog(resolved.settings.logLevel, terminal, json);
  const app = await openSomewhere(resolved, context, (settings) =>
    openApp({ actors, workflows, activities }, settings, { log }),
  );
  try {
    const ready = await describe(app, resolved.settings, module, context);
    return { app, ready, banner: banner(ready, terminal.paint) };
  } catch (error) {
    await app.stop();
    throw error;
  }
}

async function describe(
  app: App,
  settings: Settings,
  { actors, workflows, tryThese: proposed }: LoadedModule,
  { env }: Context,
): Promise<Ready> {
  const { store, namespace } = app.host.status();
  const url = app.url?.replace(/\/$/, "");
  const usual = `http://${hostInUrl(String(OPTIONS.httpHost.default))}:${OPTIONS.httpPort.default}`;
  const commands = proposed.length > 0 ? proposed : proposeCommands(actors, workflows);
  return {
    version: VERSION,
    readyInMs: Math.round(performance.now()),
    url,
    store,
    namespace,
    actorTypes: actors.map(typeNameOf),
    workflowTypes: workflows.map(({ name }) => name),
    cluster: await glanceAtCluster(app),
    tryThese: localCommands(commands, ownCommand(env), url, usual),
    needsToken: settings.httpTokens.length > 0,
  };
}
