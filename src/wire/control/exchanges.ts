// The open streams at the control server and the connections that carry them.
import type { Http2Session } from "node:http2";
import type { Exchange } from "./exchange.ts";

export class Exchanges {
  readonly #carried = new Map<Http2Session | undefined, number>();
  readonly #onCount: (open: number) => void;
  #open = 0;
  #onQuiet: (() => void) | undefined;

  constructor(onCount: (open: number) => void) {
    this.#onCount = onCount;
  }

  get size(): number {
    return this.#open;
  }

  add(exchange: Exchange): void {
    const { session } = exchange.request.stream;
    this.#change(session, 1);
    exchange.onClose(() => this.#change(session, -1));
  }

  /** Returns whether the connection carries a stream. */
  on(session: Http2Session): boolean {
    return this.#carried.has(session);
  }

  /** Resolves when no stream is open, or when the time limit has passed. */
  quiet(withinMs: number): Promise<void> {
    if (this.#open === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      this.#onQuiet = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #change(session: Http2Session | undefined, by: number): void {
    const streams = (this.#carried.get(session) ?? 0) + by;
    if (streams === 0) this.#carried.delete(session);
    else this.#carried.set(session, streams);
    this.#open += by;
    this.#onCount(this.#open);
    if (this.#open === 0) this.#onQuiet?.();
  }
}
