// Where a host is called: "ip:port", with brackets around the ip when it is version 6.
import { bareHost } from "../../kernel/addresses.ts";

export function formatAddress(host: string, port: number): string {
  const bare = bareHost(host);
  return bare.includes(":") ? `[${bare}]:${port}` : `${bare}:${port}`;
}

/** Undefined when it is no address. */
export function parseAddress(address: string): { readonly host: string; readonly port: number } | undefined {
  const colon = address.lastIndexOf(":");
  const host = bareHost(address.slice(0, Math.max(colon, 0)));
  const digits = address.slice(colon + 1);
  const port = Number(digits);
  if (host === "" || !/^\d{1,5}$/.test(digits) || port === 0 || port > 65_535) return undefined;
  return { host, port };
}
