// Checks whether the port of the HTTP server is free, which program holds it, and whether the local host is
// ready.

import type { Settings } from "../../config/options.ts";
import type { Origin } from "../../config/origin.ts";
import { hostInUrl } from "../../config/places.ts";
import { ask, askJson } from "../common/ask.ts";
import { Failure } from "../common/failure.ts";
import { listenProblem } from "../common/process/listen-problem.ts";
import type { Target } from "../common/target.ts";
import { safe } from "../common/terminal.ts";
import { type Check, fail, passed, warn } from "./check.ts";

const ASK_MS = 2_000;

export async function checkPort(settings: Settings, origin: Origin): Promise<Check> {
  const { httpHost, httpPort } = settings;
  const place = `${hostInUrl(httpHost)}:${httpPort}`;
  if (httpPort === 0) return passed("Port", "any free one will be taken");
  const problem = await listenProblem(httpHost, httpPort);
  if (problem === undefined) return passed("Port", `${place} is free`);
  if (problem === "EADDRNOTAVAIL" || problem === "ENOTFOUND") {
    return fail(
      "Port",
      `${httpHost} is not an address of this machine`,
      "Choose another with --host, such as 127.0.0.1.",
    );
  }
  if (problem === "EACCES")
    return fail("Port", `this user may not listen on ${place}`, "Choose a port above 1023 with --port.");
  if (problem !== "EADDRINUSE") return fail("Port", `cannot listen on ${place} (${problem})`);
  const holder = await whoHolds(settings);
  if (holder !== undefined) return passed("Port", `${place} is held by ${holder}`);
  const hint = "Choose another with --port, or stop the other program.";
  const message = `${place} is held by another program`;
  // The default port is only a suggestion: `limpet dev` takes the next one.
  return origin.source === "default"
    ? warn("Port", message, `limpet dev takes the next free one. ${hint}`)
    : fail("Port", message, hint);
}

interface Metadata {
  readonly runtimeVersion?: unknown;
  readonly actors?: unknown;
  readonly extended?: { readonly store?: unknown };
}

/** The process that these settings describe. */
export function targetOf({ httpHost, httpPort, httpTokens }: Settings): Target {
  const host = httpHost === "0.0.0.0" ? "127.0.0.1" : httpHost === "::" ? "::1" : httpHost;
  const url = new URL(`http://${hostInUrl(host)}:${httpPort}`);
  return { url, token: httpTokens[0], timeoutMs: ASK_MS, timeoutAsked: false };
}

/** `undefined`: an unknown program. */
async function whoHolds(settings: Settings): Promise<string | undefined> {
  try {
    const { runtimeVersion, actors, extended } = await askJson<Metadata>(targetOf(settings), {
      verb: "GET",
      path: "/v1.0/metadata",
    });
    if (typeof extended?.store !== "string") return undefined;
    const types = Array.isArray(actors) ? actors.map((actor: { type?: unknown }) => String(actor?.type)) : [];
    return safe(`limpet ${runtimeVersion} with ${types.join(", ") || "no actors"} on ${extended.store}`);
  } catch (error) {
    const known = error instanceof Failure && error.errorCode === "UNAUTHENTICATED";
    return known ? "a running limpet that requires a token" : undefined;
  }
}

export async function checkHost(settings: Settings): Promise<Check[]> {
  if (settings.httpPort === 0) return [];
  try {
    await ask(targetOf(settings), { verb: "GET", path: "/v1.0/healthz" });
    return [passed("Host", "the local process is ready")];
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (error.errorCode !== "NOT_READY") return [];
    return [warn("Host", safe(`the local process is not ready: ${error.message}`))];
  }
}
