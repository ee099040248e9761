// The open connections, and on each the exchanges under way.
// Node does not tell an answer that waits behind another one that its connection is gone, so that is kept here.
import type { Socket } from "node:net";
import type { Exchange } from "./exchange.ts";

export class Connections {
  readonly #exchanges = new Map<Socket, Set<Exchange>>();
  #underWay = 0;
  #onQuiet: (() => void) | undefined;

  open(socket: Socket): void {
    this.#exchanges.set(socket, new Set());
    socket.once("close", () => {
      for (const exchange of this.on(socket)) this.#end(socket, exchange);
      this.#exchanges.delete(socket);
    });
  }

  /** Returns how many exchanges are under way on its connection now. */
  begin(exchange: Exchange): number {
    const { socket } = exchange.request;
    const set = this.#exchanges.get(socket);
    // The connection closed before its last request was looked at.
    if (set === undefined) return 0;
    set.add(exchange);
    this.#underWay++;
    exchange.response.once("close", () => this.#end(socket, exchange));
    return set.size;
  }

  on(socket: Socket): readonly Exchange[] {
    return [...(this.#exchanges.get(socket) ?? [])];
  }

  /** Resolves when no exchange is under way. */
  quiet(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onQuiet = resolve;
    });
  }

  /** This much time has passed for every answer that its client has not read. */
  waited(ms: number): void {
    for (const exchanges of this.#exchanges.values()) for (const exchange of exchanges) exchange.waited(ms);
  }

  #end(socket: Socket, exchange: Exchange): void {
    if (this.#exchanges.get(socket)?.delete(exchange) !== true) return;
    exchange.end();
    this.#underWay--;
    if (this.#underWay === 0) this.#onQuiet?.();
  }
}
