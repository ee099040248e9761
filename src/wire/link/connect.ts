// Opens the socket of a link, with TLS when the cluster has a key and with a proof when the store has a
// secret. Reports success or failure once.
import { connect as connectPlain, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { LimpetError } from "../../kernel/errors.ts";
import { type ClusterSecurity, clientTls, connectFailure, secretToProve } from "../cluster-security.ts";
import { proveAsClient } from "./proof.ts";

export interface Connecting {
  readonly socket: Socket;
  /** Stops all reports from this attempt. */
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
  const secret = secretToProve(security);
  let stopProof: (() => void) | undefined;
  const onStanding = (): void => {
    if (secret === undefined) settle(undefined);
    else
      stopProof = proveAsClient(socket, secret, (problem) =>
        settle(problem === undefined ? undefined : unproven(address, problem)),
      );
  };
  const onError = (error: Error): void =>
    settle(stopProof ? unproven(address, NO_PROOF, error) : connectFailure(error, address, security));
  const onClose = (): void =>
    settle(stopProof ? unproven(address, NO_PROOF) : unreachable(address, "it closed the connection"));
  const timer = setTimeout(() => settle(unreachable(address, `no answer within ${timeoutMs} ms`)), timeoutMs).unref();
  const stop = (): void => {
    clearTimeout(timer);
    stopProof?.();
    socket.off(standing, onStanding).off("error", onError).off("close", onClose);
    // Later failures of the socket belong to its next owner. Without a listener they would be uncaught
    // errors.
    socket.on("error", () => {});
  };
  const settle = (failure: LimpetError | undefined): void => {
    stop();
    done(failure);
  };
  socket.on(standing, onStanding).on("error", onError).on("close", onClose);
  return { socket, stop };
}

const NO_PROOF = "closed the connection and did not prove that it knows the secret of this process's store";

const unproven = (address: string, problem: string, cause?: unknown): LimpetError => {
  const advice = "check that both processes use the same store, the same release and the same cluster keys";
  return new LimpetError("UNAUTHENTICATED", `${address} ${problem}; ${advice}`, { cause });
};

export const unreachable = (address: string, why: string, cause?: unknown): LimpetError =>
  new LimpetError("UNREACHABLE", `${address} cannot be reached: ${why}`, { cause });
