// One HTTP/2 stream at the control server: its peer, its end, and its rejection; and the set of all open
// streams.
import { constants, type Http2ServerRequest, type Http2ServerResponse, type Http2Session } from "node:http2";
import { createContextKey } from "@connectrpc/connect";
import { isLoopback } from "../../../kernel/addresses.ts";
import { invariant, LimpetError } from "../../../kernel/errors.ts";
import type { Peer } from "../../../ports/cluster/control-service.ts";
import { CODE_HEADER, grpcCode } from "../codec/status.ts";
import { cutReason } from "../codec/value-codecs.ts";

/** Context key under which the library passes the exchange to our methods. */
export const EXCHANGE = createContextKey<Exchange | undefined>(undefined);

export class Exchange {
  readonly request: Http2ServerRequest;
  readonly response: Http2ServerResponse;
  readonly peer: Peer;
  readonly #gone = new AbortController();

  constructor(request: Http2ServerRequest, response: Http2ServerResponse, lingerMs: number) {
    this.request = request;
    this.response = response;
    this.peer = peerOf(request);
    // The end of the stream reports its failures. Without listeners, an error would be an uncaught one.
    request.on("error", () => {});
    response.on("error", () => {});
    // An answered client may still send. The stream stays open for a while, so that the client can read the
    // answer.
    request.stream.once("finish", () => {
      const timer = setTimeout(() => this.cut(), lingerMs);
      this.onClose(() => clearTimeout(timer));
    });
    this.onClose(() => this.#gone.abort(request.stream.errored ?? brokenOff(this.peer, request.stream.rstCode)));
  }

  /** Aborts when the stream has ended. The request alone may seem closed before that. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  onClose(listener: () => void): void {
    if (this.request.stream.destroyed) listener();
    else this.request.stream.once("close", listener);
  }

  /** Ends the stream immediately. */
  cut(): void {
    const { stream } = this.request;
    if (!stream.destroyed) stream.close(constants.NGHTTP2_CANCEL, () => {});
  }

  /** Answers with a gRPC status that carries only an error. */
  refuse(error: LimpetError): void {
    this.#answer(200, {
      "content-type": "application/grpc",
      "grpc-status": String(grpcCode(error)),
      "grpc-message": encodeURIComponent(cutReason(error.message)),
      [CODE_HEADER]: error.code,
    });
  }

  /** Answers a peer that does not use gRPC. */
  refusePlainly(status: number): void {
    this.#answer(status, {});
  }

  #answer(status: number, headers: Record<string, string>): void {
    const { response } = this;
    if (response.headersSent || response.stream.destroyed) {
      this.cut();
    } else {
      response.writeHead(status, headers);
      response.end();
    }
  }
}

/** The open streams of the server, and the connections that carry them. */
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

export function exchangeOf(values: { get(key: typeof EXCHANGE): Exchange | undefined }): Exchange {
  const exchange = values.get(EXCHANGE);
  invariant(exchange !== undefined, "every request has its exchange in the context");
  return exchange;
}

function brokenOff({ address }: Peer, code: number): LimpetError {
  return new LimpetError(
    "UNREACHABLE",
    `the process at ${address} was lost: its stream was reset (HTTP/2 code ${code})`,
  );
}

function peerOf({ stream }: Http2ServerRequest): Peer {
  const { remoteAddress = "", localAddress } = stream.session?.socket ?? {};
  return { address: remoteAddress, sameMachine: isLoopback(remoteAddress) || remoteAddress === localAddress };
}
