// Selects the running process that a command requests. An explicit URL counts; otherwise the process that the
// settings of this folder describe, so that `limpet call` finds the process that `limpet dev` started here.

import { OPTIONS } from "../../config/options.ts";
import { describeOrigin } from "../../config/origin.ts";
import { hostInUrl, tokenProblem } from "../../config/places.ts";
import { resolveWithOrigins } from "../../config/settings.ts";
import { isLoopback } from "../../kernel/addresses.ts";
import { parseDuration } from "../../kernel/durations.ts";
import { type Context, type Flag, textFlag } from "./command.ts";
import { asUsage, settingsOrUsage, wrongUsage } from "./failure.ts";

export interface Target {
  readonly url: URL;
  readonly token: string | undefined;
  readonly timeoutMs: number;
  /** The user set the timeout explicitly. */
  readonly timeoutAsked: boolean;
}

const DEFAULT_TIMEOUT = "60s";

export const TARGET_FLAGS: readonly Flag[] = [
  {
    name: "url",
    kind: "text",
    placeholder: "url",
    help: `The process to request; also LIMPET_URL. Default http://${OPTIONS.httpHost.default}:${OPTIONS.httpPort.default}, or the setting of limpet.yaml.`,
  },
  {
    name: "token",
    kind: "text",
    placeholder: "secret",
    help: "Sent to the process; better in LIMPET_TOKEN, where other users of the machine do not see it.",
  },
  { name: "timeout", kind: "text", placeholder: "duration", help: `How long to wait. Default ${DEFAULT_TIMEOUT}.` },
];

export function resolveTarget({ flags, env, cwd }: Pick<Context, "flags" | "env" | "cwd">): Target {
  const asked = textFlag(flags, "url");
  const address = asked ?? (env.LIMPET_URL || undefined);
  const token = textFlag(flags, "token") ?? (env.LIMPET_TOKEN || undefined);
  if (token !== undefined && tokenProblem(token) !== undefined) throw wrongUsage(`the token ${tokenProblem(token)}`);
  const timeout = textFlag(flags, "timeout");
  const timeoutMs = asUsage(() => parseDuration(timeout ?? DEFAULT_TIMEOUT, "--timeout"));
  if (timeoutMs === 0) throw wrongUsage("--timeout must be longer than 0");
  const rest = { timeoutMs, timeoutAsked: timeout !== undefined };
  if (address !== undefined)
    return { url: parseUrl(address, asked === undefined ? "LIMPET_URL" : "--url"), token, ...rest };

  const { settings, origins } = settingsOrUsage(() => resolveWithOrigins({ env, cwd }));
  const { httpHost, httpPort, httpTokens } = settings;
  // A process that listens on every address also listens on loopback.
  const host = httpHost === "0.0.0.0" ? "127.0.0.1" : httpHost === "::" ? "::1" : httpHost;
  const url = new URL(`http://${hostInUrl(host)}:${httpPort === 0 ? OPTIONS.httpPort.default : httpPort}`);
  if (isLoopback(host)) return { url, token: token ?? httpTokens[0], ...rest };
  // A file in the current folder is not trusted: it must not choose the machine that receives the user's
  // token.
  const named = origins.httpHost.source;
  if (token !== undefined && named === "file") {
    const why = `${describeOrigin(origins.httpHost)} names ${host}, and the token was not given for that address`;
    throw wrongUsage(`${why}; name it with --url or LIMPET_URL to send the token there`);
  }
  return { url, token: token ?? (named === origins.httpTokens.source ? httpTokens[0] : undefined), ...rest };
}

export function parseUrl(text: string, where: string): URL {
  const full = text.includes("://") ? text : `http://${text}`;
  const url = URL.canParse(full) ? new URL(full) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.hostname === "") {
    throw wrongUsage(`${where}: ${JSON.stringify(text)} is not a URL; write for example http://127.0.0.1:7300`);
  }
  if (url.username !== "" || url.password !== "") {
    throw wrongUsage(`${where}: a URL with a user or a password is not supported; use --token or LIMPET_TOKEN`);
  }
  return url;
}

/** Without the slash at the end, for display. */
export function shownUrl(url: URL): string {
  return url.href.replace(/\/$/, "");
}
