// Access control of the HTTP server. A server on loopback trusts the programs of this machine, but no web
// page in a browser. A page can reach 127.0.0.1, by a name it controls (DNS rebinding) or by a blind POST. So
// the Host must be a loopback name, and requests of foreign pages are rejected. Any other server requires a
// token.

import { hash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { isLoopback } from "../../kernel/addresses.ts";
import { invalidOption } from "../../kernel/check.ts";
import { LimpetError } from "../../kernel/errors.ts";

export interface HttpServerSettings {
  readonly host: string;
  readonly port: number;
  readonly tokens: readonly string[];
}

export function checkServerSettings({ host, port, tokens }: HttpServerSettings): void {
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw invalidOption("the HTTP port must be 0 to 65535");
  if (!tokens.every((token) => /^[\x21-\x7e]+$/.test(token))) {
    throw invalidOption("an HTTP token must be printable ASCII without spaces, at least one character");
  }
  if (!isLoopback(host) && tokens.length === 0) {
    throw invalidOption(
      `listening on ${host || "every address"} would let every machine on the network call every actor; ` +
        "set a token that clients must send, or listen on 127.0.0.1",
    );
  }
}

export type Guard = (request: IncomingMessage, needsToken: boolean) => LimpetError | undefined;

export function createGuard({ host, tokens }: HttpServerSettings): Guard {
  const digests = tokens.map((token) => hash("sha256", token, "buffer"));
  const hostProblem = isLoopback(host) ? loopbackOnly() : () => undefined;
  return (request, needsToken) =>
    headerProblem(request) ??
    hostProblem(request) ??
    browserProblem(request) ??
    (needsToken && digests.length > 0 ? tokenProblem(request, digests) : undefined);
}

/** Headers that decide something: a proxy in front of this server could read two of them differently. */
const SINGLE = new Set(
  "host authorization dapr-api-token origin sec-fetch-site content-type content-encoding content-length limpet-timeout".split(
    " ",
  ),
);

function headerProblem({ rawHeaders, headers, httpVersion }: IncomingMessage): LimpetError | undefined {
  const seen: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase();
    if (!SINGLE.has(name)) continue;
    if (seen.includes(name)) return new LimpetError("REQUEST_INVALID", `header ${name} is given twice`);
    seen.push(name);
  }
  if (headers.host === undefined && httpVersion === "1.1") {
    return new LimpetError("REQUEST_INVALID", "header host is missing");
  }
  return undefined;
}

function loopbackOnly(): (request: IncomingMessage) => LimpetError | undefined {
  // Nearly all requests name the same host; this is the last one that was accepted.
  let fine: string | undefined;
  return ({ headers: { host } }) => {
    // A request without a host is HTTP/1.0, which no browser uses.
    if (host === undefined || host === fine) return undefined;
    const name = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+))(?::\d{1,5})?$/i.exec(host);
    if (name !== null && isLoopback(name[1] ?? name[2]!)) {
      fine = host;
      return undefined;
    }
    const what = "this server listens on loopback and accepts only localhost, 127.0.0.1 and [::1] as host";
    return new LimpetError("ORIGIN_REFUSED", `${what}; a proxy in front of it must set the host header accordingly`);
  };
}

function browserProblem({ headers }: IncomingMessage): LimpetError | undefined {
  const { origin, host = "" } = headers;
  const site = headers["sec-fetch-site"];
  // A page's GET for an image or a script carries no origin, but names its site.
  const foreignSite = site !== undefined && site !== "same-origin" && site !== "none";
  const foreignOrigin =
    origin !== undefined && origin.replace(/^https?:\/\//i, "").toLowerCase() !== host.toLowerCase();
  // Browsers before 2023 send no sec-fetch-site, but they send the page as referer.
  const foreignPage =
    site === undefined && headers.referer !== undefined && hostOfPage(headers.referer) !== host.toLowerCase();
  if (!foreignSite && !foreignOrigin && !foreignPage) return undefined;
  return new LimpetError("ORIGIN_REFUSED", "requests from web pages of other origins are refused");
}

const hostOfPage = (referer: string): string | undefined => /^https?:\/\/([^/?#]+)/i.exec(referer)?.[1]?.toLowerCase();

function tokenProblem({ headers }: IncomingMessage, digests: readonly Buffer[]): LimpetError | undefined {
  const bearer = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? "")?.[1];
  const dapr = headers["dapr-api-token"];
  let valid = false;
  for (const given of [bearer, typeof dapr === "string" ? dapr : undefined]) {
    if (given === undefined) continue;
    // Digests have one length, and every token is compared, so the time reveals nothing about any of them.
    const digest = hash("sha256", given, "buffer");
    for (const known of digests) valid = timingSafeEqual(digest, known) || valid;
  }
  if (valid) return undefined;
  return new LimpetError("UNAUTHENTICATED", "send a valid token as `authorization: Bearer …` or `dapr-api-token: …`");
}
