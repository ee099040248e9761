// Authentication in the cluster: a process that knows the cluster key is a member. Connections between
// processes use TLS 1.3 with a pre-shared key derived from the cluster key. Both ends prove that they know
// it, the traffic is encrypted, and no certificates are needed.
// Several keys may be valid at once, so that a key can be changed without stopping the cluster: a server
// accepts any of its keys, a client uses the first. Without a key, which is for loopback alone, the secret of
// the store takes its place. Control streams use it as the key; links prove it once and continue without TLS
// (link/proof.ts).
import { hkdfSync } from "node:crypto";
import type { ConnectionOptions, TlsOptions } from "node:tls";
import { isLimpetError, LimpetError } from "../kernel/errors.ts";
import { LIMITS } from "../kernel/limits.ts";

export interface ClusterSecurity {
  /** Keys of the cluster. The first is used to connect, all are accepted. */
  readonly keys: readonly string[];
  /** Secret of the store, used when there is no key. */
  readonly secret?: string;
}

export const NO_SECURITY: ClusterSecurity = { keys: [] };

/** For a connection without any protection but TLS. */
export function keysOrSecret({ keys, secret }: ClusterSecurity): ClusterSecurity {
  return { keys: keys.length > 0 || secret === undefined ? keys : [secret] };
}

/** The secret that a link must prove; undefined with a cluster key, which replaces it. */
export const secretToProve = ({ keys, secret }: ClusterSecurity): string | undefined =>
  keys.length > 0 ? undefined : secret;

interface DerivedKey {
  readonly identity: string;
  readonly psk: Buffer;
}

const derive = (key: string, label: string, bytes: number): Buffer =>
  Buffer.from(hkdfSync("sha256", key, "", label, bytes));

function deriveKey(key: string): DerivedKey {
  return {
    identity: derive(key, "limpet cluster identity", 8).toString("hex"),
    psk: derive(key, "limpet cluster", 32),
  };
}

/** The public part of a key. It is sent unencrypted when a connection opens, to identify the key. */
export const keyFingerprint = (key: string): string => deriveKey(key).identity;

/**
 * This suite has the hash of a plain pre-shared key. A TLS version below 1.3 would encrypt less of the
 * handshake.
 */
const TLS = { minVersion: "TLSv1.3", maxVersion: "TLSv1.3", ciphers: "TLS_AES_128_GCM_SHA256" } as const;

/** For tls.createServer and http2.createSecureServer. Undefined: listen without TLS. */
export function serverTls({ keys }: ClusterSecurity): TlsOptions | undefined {
  if (keys.length === 0) return undefined;
  const known = new Map(keys.map(deriveKey).map(({ identity, psk }) => [identity, psk]));
  return {
    ...TLS,
    // There is no certificate to fall back to, so a client without a known key fails in the handshake.
    pskCallback: (_socket, identity) => known.get(identity) ?? null,
    handshakeTimeout: LIMITS.clusterConnectMs,
  };
}

/** For tls.connect and http2.connect. Undefined: connect without TLS. */
export function clientTls({ keys }: ClusterSecurity): ConnectionOptions | undefined {
  const [first] = keys;
  if (first === undefined) return undefined;
  const key = deriveKey(first);
  return {
    ...TLS,
    pskCallback: () => key,
    // A server that knows the key shows no certificate, and this check is not called. A server that shows a
    // certificate, however trusted, has not proven that it knows the key.
    checkServerIdentity: () => new LimpetError("UNAUTHENTICATED", "the other side does not know the cluster key"),
    // The environment could otherwise disable the check.
    rejectUnauthorized: true,
  };
}

/** Describes a failed attempt to connect to `address`. */
export function connectFailure(thrown: unknown, address: string, { keys }: ClusterSecurity): LimpetError {
  if (isLimpetError(thrown) && thrown.code !== "UNAUTHENTICATED") return thrown;
  const { code = "", message = String(thrown) } = (thrown ?? {}) as { code?: string; message?: string };
  const failure = (error: "UNAUTHENTICATED" | "UNREACHABLE", what: string) =>
    new LimpetError(error, `${address} ${what}`, { cause: thrown });
  if (NOT_TLS.has(code)) return failure("UNAUTHENTICATED", "does not use TLS; set the cluster key in that process");
  if (isKeyRefusal(code)) return failure("UNAUTHENTICATED", "has another cluster key, or none");
  if (keys.length === 0 && HUNG_UP.has(code)) {
    return failure(
      "UNREACHABLE",
      "closed the connection at once; it is not a Limpet process, or it requires a cluster key that this process lacks",
    );
  }
  return failure("UNREACHABLE", `cannot be reached: ${code === "" ? message : code}`);
}

const NOT_TLS = new Set(["ERR_SSL_WRONG_VERSION_NUMBER", "ERR_SSL_PACKET_LENGTH_TOO_LONG", "EPROTO"]);
const HUNG_UP = new Set(["ECONNRESET", "EPIPE", "ERR_HTTP2_ERROR", "ERR_HTTP2_SESSION_ERROR"]);

/** TLS alerts of the peer, and certificates that it showed instead of the key. */
const isKeyRefusal = (code: string): boolean =>
  code === "UNAUTHENTICATED" || code.startsWith("ERR_SSL_") || code.includes("CERT");
