// Opens the socket of a link, with TLS when the cluster has a key, and says once that it stands, or why it does not.
import { connect as connectPlain, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { LimpetError } from "../../kernel/errors.ts";
import { type ClusterSecurity, clientTls, connectFailure } from "../cluster-security.ts";

export interface Connecting {
  readonly socket: Socket;
  /** Says nothing any more. */
  stop(): void;
}

export function openSocket(
  at: { readonly host: string; readonly port: number },
  address: string,
  security: ClusterSecurity,
  timeoutMs: number,
  done: (failure: LimpetError | undefined) => void,
): Connecting {
  const tls = clientTls(security);
  const socket = tls === undefined ? connectPlain(at) : connectTls({ ...tls, ...at });
  const standing = tls === undefined ? "connect" : "secureConnect";
  const onStanding = (): void => settle(undefined);
  const onError = (error: Error): void => settle(connectFailure(error, address, security));
  const onClose = (): void => settle(unreachable(address, "it hung up"));
  const timer = setTimeout(() => settle(unreachable(address, `no answer within ${timeoutMs} ms`)), timeoutMs).unref();
  const stop = (): void => {
    clearTimeout(timer);
    socket.off(standing, onStanding).off("error", onError).off("close", onClose);
    // What fails from now on is no news here, and must not be an uncaught error.
    socket.on("error", () => {});
  };
  const settle = (failure: LimpetError | undefined): void => {
    stop();
    done(failure);
  };
  socket.on(standing, onStanding).on("error", onError).on("close", onClose);
  return { socket, stop };
}

export const unreachable = (address: string, why: string, cause?: unknown): LimpetError =>
  new LimpetError("UNREACHABLE", `${address} cannot be reached: ${why}`, { cause });
