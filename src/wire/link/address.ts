// Network addresses of hosts: "ip:port", with brackets around an IPv6 address.
import { bareHost } from "../../kernel/addresses.ts";

export function formatAddress(host: string, port: number): string {
  const bare = bareHost(host);
  return bare.includes(":") ? `[${bare}]:${port}` : `${bare}:${port}`;
}

/** Returns undefined when the text is not an address. */
export function parseAddress(address: string): { readonly host: string; readonly port: number } | undefined {
  const colon = address.lastIndexOf(":");
  const host = bareHost(address.slice(0, Math.max(colon, 0)));
  const digits = address.slice(colon + 1);
  const port = Number(digits);
  if (host === "" || !/^\d{1,5}$/.test(digits) || port === 0 || port > 65_535) return undefined;
  return { host, port };
}
