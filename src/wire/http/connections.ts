// The open connections, and the exchanges in progress on each. Node does not notify an answer that waits
// behind another one of the end of its connection, so this class does.
import type { Socket } from "node:net";
import type { HttpExchange } from "./exchange.ts";

export class HttpConnections {
  readonly #exchanges = new Map<Socket, Set<HttpExchange>>();
  #inProgress = 0;
  #onQuiet: (() => void) | undefined;

  open(socket: Socket): void {
    this.#exchanges.set(socket, new Set());
    socket.once("close", () => {
      for (const exchange of this.on(socket)) this.#end(socket, exchange);
      this.#exchanges.delete(socket);
    });
  }

  /** Returns the number of exchanges in progress on its connection. */
  begin(exchange: HttpExchange): number {
    const { socket } = exchange.request;
    const set = this.#exchanges.get(socket);
    // The connection closed before its last request was handled.
    if (set === undefined) return 0;
    set.add(exchange);
    this.#inProgress++;
    exchange.response.once("close", () => this.#end(socket, exchange));
    return set.size;
  }

  on(socket: Socket): readonly HttpExchange[] {
    return [...(this.#exchanges.get(socket) ?? [])];
  }

  /** Resolves when no exchange is in progress. */
  quiet(): Promise<void> {
    if (this.#inProgress === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onQuiet = resolve;
    });
  }

  /** Adds elapsed time for every answer that its client has not read. */
  waited(ms: number): void {
    for (const exchanges of this.#exchanges.values()) for (const exchange of exchanges) exchange.waited(ms);
  }

  #end(socket: Socket, exchange: HttpExchange): void {
    if (this.#exchanges.get(socket)?.delete(exchange) !== true) return;
    exchange.end();
    this.#inProgress--;
    if (this.#inProgress === 0) this.#onQuiet?.();
  }
}
