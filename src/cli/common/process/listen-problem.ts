// Checks whether a process could listen on a port now: listens, and closes at once.

import { createServer } from "node:net";
import { bareHost } from "../../../kernel/addresses.ts";

/** Node's error code, such as EADDRINUSE; undefined when the port is free. */
export function listenProblem(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host: bareHost(host), port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}
