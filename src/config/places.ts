// Checks store locations, addresses, host names, tokens and keys. A check returns the problem as the end of a
// sentence. The functions for display hide secrets. Pure.

import { isIP } from "node:net";
import { bareHost } from "../kernel/addresses.ts";
import { LIMITS } from "../kernel/limits.ts";
import { nameProblem } from "../kernel/names.ts";

export type StoreKind = "memory" | "sqlite" | "postgres";

export function storeKind(location: string): StoreKind {
  if (location === "memory:") return "memory";
  return /^postgres(ql)?:\/\//i.test(location) ? "postgres" : "sqlite";
}

export function storeProblem(location: string): string | undefined {
  if (location.trim() === "") return "must not be empty";
  if (location.includes("\0")) return "must not contain NUL";
  if (/^:?memory:?$/i.test(location) && location !== "memory:") return 'is not a store; write "memory:" for memory';
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(location)?.[1]?.toLowerCase();
  if (scheme === undefined || location === "memory:") return undefined;
  if (scheme === "file" || scheme === "sqlite") return "must be a plain path for SQLite, such as data/limpet.db";
  if (storeKind(location) !== "postgres") {
    return scheme.startsWith("postgres")
      ? "must have the form postgres://user:password@host:5432/database"
      : 'must be a file, "memory:" or "postgres://…"';
  }
  return URL.canParse(location) ? undefined : "must have the form postgres://user:password@host:5432/database";
}

/** Without the password, for display. */
export function shownStore(location: string): string {
  if (!location.includes("://")) return location;
  // An invalid URL may still hold a password; then everything up to the last @ is hidden.
  if (!URL.canParse(location)) return location.replace(/:\/\/.*@/s, "://…@").replace(/\?.*$/s, "?…");
  const url = new URL(location);
  if (url.password !== "") url.password = "…";
  for (const name of url.searchParams.keys()) {
    if (/pass|secret|token|key/i.test(name)) url.searchParams.set(name, "…");
  }
  return decodeURI(url.href).replaceAll("%E2%80%A6", "…");
}

export function hostProblem(host: string): string | undefined {
  if (isIP(bareHost(host)) !== 0) return undefined;
  if (host.includes("://")) return "must be an address alone, such as 127.0.0.1, without http://";
  if (/^[^:]*:\d+$/.test(host)) return "must be an address alone; the port is a setting of its own";
  if (/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(host)) return undefined;
  return "must be an IP address or a host name";
}

/** An address in the form for a URL. */
export function hostInUrl(host: string): string {
  return isIP(bareHost(host)) === 6 ? `[${bareHost(host)}]` : host;
}

export function tokenProblem(token: string): string | undefined {
  // A token is sent in a header and, in the environment, in a list with commas.
  return /^[!-+\--~]+$/.test(token) ? undefined : "must be visible ASCII characters without spaces or commas";
}

/** Every spelling of "all addresses of this machine" in a URL. */
const EVERYWHERE = new Set(["0.0.0.0", "[::]", "[::ffff:0:0]"]);

/** Checks an address for other hosts, which `0.0.0.0` cannot be. */
export function reachableProblem(host: string): string | undefined {
  const problem = hostProblem(host);
  if (problem !== undefined) return problem;
  const url = `http://${hostInUrl(host)}`;
  if (!URL.canParse(url) || !EVERYWHERE.has(new URL(url).hostname)) return undefined;
  return "is no address that others could call; write the one at which they reach this machine";
}

const PORT_MAX = 65_535;

/** `host:port`, with an IPv6 address in brackets. */
export function addressProblem(address: string): string | undefined {
  const parts = /^(\[[^\]]*\]|[^:]*):(\d{1,5})$/.exec(address);
  if (parts === null) return "must be host:port, such as 10.0.0.1:7400";
  const [, host, port] = parts as unknown as [string, string, string];
  const problem = host === "" ? "must name a host in front of the port" : reachableProblem(host);
  if (problem !== undefined) return problem;
  return Number(port) >= 1 && Number(port) <= PORT_MAX ? undefined : `must have a port from 1 to ${PORT_MAX}`;
}

/** The host of `host:port`. */
export function hostOfAddress(address: string): string {
  return address.slice(0, address.lastIndexOf(":"));
}

const KEY_LENGTH = 16;

export function keyProblem(key: string): string | undefined {
  return tokenProblem(key) ?? (key.length < KEY_LENGTH ? `must have at least ${KEY_LENGTH} characters` : undefined);
}

/** An empty name is valid: it stands for the name of the machine. */
export function nameOfHostProblem(name: string): string | undefined {
  return name === "" ? undefined : nameProblem(name, LIMITS.wordBytes);
}
