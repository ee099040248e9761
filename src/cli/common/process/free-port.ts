// Opens a process on a free HTTP port: when the default port is taken and the user set none, it takes the
// next free one. Cluster ports are never replaced, because other processes know them.

import type { Settings } from "../../../config/options.ts";
import type { ResolvedSettings } from "../../../config/settings.ts";
import type { App } from "../../../host/app.ts";
import { isLimpetError, type LimpetError } from "../../../kernel/errors.ts";
import type { Context } from "../command.ts";
import { Failure } from "../failure.ts";
import { print } from "./life.ts";
import { listenProblem } from "./listen-problem.ts";

/** Ports to try after the default one. */
const MORE_PORTS = 9;

/**
 * The port is checked before anything is opened: a host that joins a cluster and leaves again moves actors
 * twice.
 */
export async function openSomewhere(
  { settings, origins }: ResolvedSettings,
  context: Context,
  open: (settings: Settings) => Promise<App>,
  probe: typeof listenProblem = listenProblem,
): Promise<App> {
  const { http, httpHost, httpPort: usual } = settings;
  const last = http && origins.httpPort.source === "default" ? usual + MORE_PORTS : usual;
  let taken: unknown;
  for (let port = usual; port <= last; port++) {
    if (http && port !== 0 && (await probe(httpHost, port)) === "EADDRINUSE") continue;
    try {
      const app = await open({ ...settings, httpPort: port });
      if (port !== usual) print(context, `Port ${usual} is taken; using ${port}.`);
      return app;
    } catch (error) {
      if (!isLimpetError(error, "ADDRESS_IN_USE")) throw withDoctor(error);
      if (takenPort(error) !== port) throw clusterPortTaken(error);
      // Another process took the port in between.
      taken = error;
    }
  }
  const which = last === usual ? `port ${usual} is taken` : `all ports from ${usual} to ${last} are taken`;
  const hint = "limpet doctor shows by which program. Choose another with --port, or any free one with --port 0.";
  throw new Failure("ADDRESS_IN_USE", which, { hint, cause: taken });
}

/** The cause, Node's own error, holds the port. */
function takenPort({ cause }: LimpetError): number | undefined {
  return (cause as { readonly port?: number } | undefined)?.port;
}

function clusterPortTaken(error: LimpetError): Failure {
  const hint = "Choose other ports with --cluster-port and --scheduler-port; 0 takes any free one.";
  return new Failure(error.code, error.message, { hint, cause: error });
}

function withDoctor(error: unknown): unknown {
  if (!isLimpetError(error) || !error.code.startsWith("STORE_")) return error;
  return new Failure(error.code, error.message, {
    hint: "limpet doctor checks the store.",
    cause: error,
  });
}
