// limpet scheduler

import { describeOrigin } from "../../config/origin.ts";
import { type ResolvedSettings, resolveWithOrigins } from "../../config/settings.ts";
import { openScheduler } from "../../host/app.ts";
import { VERSION } from "../../host/version.ts";
import { type CliCommand, type Context, textFlag } from "../common/command.ts";
import { asFailure, settingsOrUsage, wrongUsage } from "../common/failure.ts";
import { glanceAtCluster } from "../common/process/cluster-glance.ts";
import { openSomewhere } from "../common/process/free-port.ts";
import { live, type Opened } from "../common/process/life.ts";
import { SETTING_FLAGS } from "../common/setting-flags.ts";
import { devLog } from "../dev/dev-log.ts";
import { ownCommand } from "../dev/own-command.ts";
import { ownAddress, type SchedulerReady, schedulerBanner } from "./banner.ts";

/** A fixed port, so that `schedulers` can name it without a lookup. */
const USUAL_PORT = 7400;

export const schedulerCommand: CliCommand = {
  name: "scheduler",
  summary: "Run a dedicated scheduler",
  about:
    "It hosts no actors: it assigns actors to hosts. While one runs, the schedulers inside hosts do not lead; of\n" +
    `several on one store, one leads and the others wait. Hosts reach it on port ${USUAL_PORT} unless set otherwise.`,
  arguments: [],
  flags: [],
  settings: SETTING_FLAGS,
  examples: [
    "limpet scheduler",
    "limpet scheduler --store postgres://db.internal/shop --cluster-host 10.0.0.1",
    "limpet scheduler --scheduler-port 7401 --port 0",
  ],
  async run(context) {
    const resolved = settingsOrUsage(() => resolveScheduler(context));
    return live(context, {
      open: () => open(context, resolved),
      openingFailed: asFailure,
      stopping: "Stopping;",
      drainTimeoutMs: resolved.settings.drainTimeout,
    });
  },
};

/** The defaults of this command suit a scheduler. Every setting of the user replaces them. */
function resolveScheduler({ flags, env, cwd }: Context): ResolvedSettings {
  const command = { http: true, logLevel: "info", cluster: { schedulerPort: USUAL_PORT } } as const;
  const resolved = resolveWithOrigins({ command, file: textFlag(flags, "config"), env, flags, cwd });
  if (resolved.settings.cluster) return resolved;
  const origin = describeOrigin(resolved.origins.cluster);
  throw wrongUsage(`a scheduler needs a cluster, but ${origin} disables it`);
}

async function open(context: Context, resolved: ResolvedSettings): Promise<Opened> {
  const { terminal, json, env } = context;
  const log = devLog(resolved.settings.logLevel, terminal, json);
  const app = await openSomewhere(resolved, context, (settings) => openScheduler(settings, { log }));
  const cluster = await glanceAtCluster(app);
  const address = ownAddress(resolved.settings, cluster);
  const ready: SchedulerReady = {
    version: VERSION,
    readyInMs: Math.round(performance.now()),
    url: app.url?.replace(/\/$/, ""),
    store: app.host.status().store,
    address,
    cluster,
    join: address === undefined ? undefined : `${ownCommand(env)} dev app.ts --schedulers ${address}`,
    needsKey: resolved.settings.clusterKeys.length > 0,
  };
  return { app, ready, banner: schedulerBanner(ready, terminal.paint) };
}
