// Could a process listen there at this moment? Tries, and lets go at once.

import { createServer } from "node:net";
import { bareHost } from "../../kernel/addresses.ts";

/** Node's code for what stands in the way, such as EADDRINUSE; nothing when it could. */
export function listenProblem(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host: bareHost(host), port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}
