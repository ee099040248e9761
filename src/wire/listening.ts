// Starts to listen on an address, or fails with an error that explains the cause.
import type { AddressInfo, Server } from "node:net";
import { LimpetError } from "../kernel/errors.ts";

export interface ListenAt {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

/** Resolves with the port. Later errors of the server go to `onError`. */
export function listenAt(server: Server, at: ListenAt, onError: (error: Error) => void): Promise<number> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) => reject(listenProblem(error, at));
    server.once("error", fail);
    server.listen({ host: at.host, port: at.port }, () => {
      server.off("error", fail).on("error", onError);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function listenProblem(error: NodeJS.ErrnoException, { host, port }: ListenAt): LimpetError {
  const where = `port ${port} on ${host || "every address"}`;
  if (error.code === "EADDRINUSE") {
    const advice = "stop the process that listens there, or choose another port (0 takes any free one)";
    return new LimpetError("ADDRESS_IN_USE", `${where} is in use; ${advice}`, { cause: error });
  }
  const what = error.code === "EACCES" ? "this user may not listen there" : "it is not an address of this machine";
  return new LimpetError("OPTION_INVALID", `cannot listen at ${where}: ${what} (${error.code})`, { cause: error });
}
