// Opens a process whose HTTP door may listen elsewhere: when the usual port is taken and nobody asked for a particular
// one, the next free one will do. Ports of the cluster are never replaced, because others were told of them.

import type { Settings } from "../../config/options.ts";
import type { ResolvedSettings } from "../../config/settings.ts";
import type { App } from "../../host/app.ts";
import { isLimpetError, type LimpetError } from "../../kernel/errors.ts";
import type { Context } from "../command.ts";
import { Failure } from "../failure.ts";
import { say } from "./life.ts";
import { listenProblem } from "./listen-problem.ts";

/** Ports tried after the usual one. */
const MORE_PORTS = 9;

/** A port is looked at before anything is opened: a host that joins a cluster and leaves again moves actors twice. */
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
      if (port !== usual) say(context, `Port ${usual} is taken; using ${port}.`);
      return app;
    } catch (error) {
      if (!isLimpetError(error, "ADDRESS_IN_USE")) throw withDoctor(error);
      if (takenPort(error) !== port) throw clusterPortTaken(error);
      // Somebody was faster.
      taken = error;
    }
  }
  const which = last === usual ? `port ${usual} is taken` : `all ports from ${usual} to ${last} are taken`;
  const hint = "limpet doctor says by whom. Choose another with --port, or any free one with --port 0.";
  throw new Failure("ADDRESS_IN_USE", which, { hint, cause: taken });
}

/** Node's own error, which is the cause, knows which port it was. */
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
    hint: "limpet doctor looks at the store more closely.",
    cause: error,
  });
}
