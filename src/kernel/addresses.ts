// Network addresses of hosts: parsing, formatting, and the check for loopback.

/** Removes the brackets that an IPv6 address has in a URL. */
export function bareHost(host: string): string {
  return host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;
}

const OCTET = "(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)";
const LOOPBACK_V4 = new RegExp(`^(?:::ffff:)?127(?:\\.${OCTET}){3}$`, "i");
const LOOPBACK_V6 = /^(?:::|(?:0{1,4}:){7})0{0,3}1$/;

/** Only programs on this machine can reach a loopback address. */
export function isLoopback(host: string): boolean {
  const address = bareHost(host);
  return address.toLowerCase() === "localhost" || LOOPBACK_V4.test(address) || LOOPBACK_V6.test(address);
}

/** "ip:port", with brackets around an IPv6 address. */
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
