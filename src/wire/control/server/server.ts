// The control server: plain gRPC over HTTP/2 in front of a scheduler. Every input gets a defined answer or a
// closed connection. No input disturbs other peers, and no exception leaves this file.
import {
  createSecureServer,
  createServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
  type ServerOptions,
} from "node:http2";
import type { Server, Socket } from "node:net";
import { createConnectRouter, createContextValues } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from "@connectrpc/connect-node";
import { LimpetError } from "../../../kernel/errors.ts";
import type { ControlService } from "../../../ports/cluster/control-service.ts";
import type { Log } from "../../../ports/log.ts";
import type { Counter, Meter } from "../../../ports/meter.ts";
import { type ClusterSecurity, keysOrSecret, serverTls } from "../../cluster-security.ts";
import { type ListenAt, listenAt } from "../../listening.ts";
import { RefusalLog } from "../../refusal-log.ts";
import { keepAlive } from "../keep-alive.ts";
import { CONTROL_LIMITS, type ControlLimits } from "../limits.ts";
import { EXCHANGE, Exchange, Exchanges } from "./exchange.ts";
import { Methods } from "./methods.ts";

export interface ControlListen extends ListenAt {
  readonly security: ClusterSecurity;
}

export interface ControlServerDeps {
  readonly log: Log;
  readonly meter: Meter;
}

export interface ControlServer {
  /** The address on which it listens, `host:port`. */
  readonly address: string;
  readonly port: number;
  /** Notifies every stream that the scheduler is stopping, and closes every connection soon after. */
  close(): Promise<void>;
}

export async function openControlServer(
  service: ControlService,
  listen: ControlListen,
  deps: ControlServerDeps,
  limits: ControlLimits = CONTROL_LIMITS,
): Promise<ControlServer> {
  const server = new ListeningControlServer(service, listen.security, deps, limits);
  const port = await server.listen(listen);
  const address = `${listen.host.includes(":") ? `[${listen.host}]` : listen.host}:${port}`;
  deps.log.info("control.listening", { address });
  return { address, port, close: () => server.close() };
}

class ListeningControlServer {
  readonly #log: Log;
  readonly #refusals: RefusalLog;
  readonly #limits: ControlLimits;
  readonly #server: Server;
  readonly #methods: Methods;
  readonly #handlers: ReadonlyMap<string, UniversalHandler>;
  readonly #sockets = new Set<Socket>();
  readonly #exchanges: Exchanges;
  readonly #refused: (code: string) => Counter;
  #closed: Promise<void> | undefined;

  constructor(
    service: ControlService,
    security: ClusterSecurity,
    { log, meter }: ControlServerDeps,
    limits: ControlLimits,
  ) {
    this.#log = log;
    this.#refusals = new RefusalLog(log, "control.refused");
    this.#limits = limits;
    this.#methods = new Methods(service, log, limits);
    this.#handlers = handlersOf(this.#methods, limits);
    const open = meter.gauge("limpet_control_streams", "Open streams of the control server.");
    this.#exchanges = new Exchanges((count) => open.set(count));
    this.#refused = (code) =>
      meter.counter("limpet_control_refused_total", "Requests rejected by the control server.", { code });
    const options = serverOptions(limits);
    const tls = serverTls(keysOrSecret(security));
    this.#server = tls === undefined ? createServer(options) : createSecureServer({ ...options, ...tls });
    this.#server.maxConnections = limits.streams;
    this.#server
      .on("connection", (socket: Socket) => this.#connected(socket))
      .on("session", (session: ServerHttp2Session) => this.#watch(session))
      .on("request", (request: Http2ServerRequest, response: Http2ServerResponse) => this.#begin(request, response))
      // A peer that is not a gRPC client, or has no key. The connection is closed already.
      .on("sessionError", (err: Error) => this.#log.debug("control.broken", { err }))
      .on("tlsClientError", (err: Error, socket: Socket) => this.#keyless(err, socket));
  }

  listen(at: ListenAt): Promise<number> {
    return listenAt(this.#server, at, (err) => this.#log.error("control.failed", { err }));
  }

  close(): Promise<void> {
    this.#closed ??= this.#drain();
    return this.#closed;
  }

  async #drain(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#methods.stop();
    await this.#exchanges.quiet(this.#limits.lingerMs);
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #connected(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
  }

  #keyless(err: Error, socket: Socket): void {
    this.#refused("UNAUTHENTICATED").add(1);
    this.#refusals.refused({ peer: socket.remoteAddress, err });
  }

  #watch(session: ServerHttp2Session): void {
    const who = `the process at ${session.socket.remoteAddress}`;
    keepAlive(session, { who, inUse: () => this.#exchanges.on(session) }, this.#limits);
  }

  #begin(request: Http2ServerRequest, response: Http2ServerResponse): void {
    const exchange = new Exchange(request, response, this.#limits.lingerMs);
    this.#exchanges.add(exchange);
    try {
      this.#serve(exchange);
    } catch (err) {
      // The library rejects some requests by throwing.
      this.#log.debug("control.broken", { err });
      exchange.refusePlainly(400);
    }
  }

  #serve(exchange: Exchange): void {
    const { request, response } = exchange;
    if (!speaksGrpc(request)) {
      exchange.refusePlainly(415);
      return;
    }
    const handler = this.#handlers.get(request.url);
    const refused = handler === undefined ? unknownPath(request.url) : this.#unwilling();
    if (handler === undefined || refused !== undefined) {
      this.#refuse(exchange, refused!);
      return;
    }
    // A host's stream has its own time limit; every other request must be complete soon.
    if (handler.method.methodKind !== "bidi_streaming") this.#hurry(exchange);
    // Clients enforce their own deadlines; here a deadline would only be a timer that outlives the stream.
    delete request.headers["grpc-timeout"];
    const values = createContextValues().set(EXCHANGE, exchange);
    const asked = universalRequestFromNodeRequest(request, response, undefined, values);
    handler({ ...asked, signal: exchange.gone })
      .then((answer) => universalResponseToNodeResponse(answer, response))
      // Failures of our own code are logged there. This one is a client that disconnected.
      .catch((err: unknown) => this.#log.debug("control.broken", { err }));
  }

  #hurry(exchange: Exchange): void {
    const { firstMessageMs } = this.#limits;
    const error = new LimpetError("REQUEST_TIMEOUT", `the request was not complete within ${firstMessageMs} ms`);
    const timer = setTimeout(() => this.#refuse(exchange, error), firstMessageMs);
    const done = () => clearTimeout(timer);
    exchange.request.once("end", done);
    exchange.onClose(done);
  }

  #unwilling(): LimpetError | undefined {
    if (this.#closed !== undefined) return new LimpetError("STOPPING", "this scheduler is stopping");
    const { streams } = this.#limits;
    if (this.#exchanges.size <= streams) return undefined;
    return new LimpetError("HOST_FULL", `this scheduler serves ${streams} streams, which is the limit; retry later`);
  }

  #refuse(exchange: Exchange, error: LimpetError): void {
    this.#refused(error.code).add(1);
    exchange.refuse(error);
  }
}

function handlersOf(methods: Methods, { messageBytes }: ControlLimits): Map<string, UniversalHandler> {
  const router = createConnectRouter({
    connect: false,
    grpcWeb: false,
    // A few compressed bytes could otherwise expand to a great many.
    acceptCompression: [],
    readMaxBytes: messageBytes,
    writeMaxBytes: messageBytes,
    binaryOptions: { readUnknownFields: false },
  });
  methods.register(router);
  return new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
}

function serverOptions({ streamsPerConnection, headerBytes, lingerMs }: ControlLimits): ServerOptions {
  return {
    settings: { maxConcurrentStreams: streamsPerConnection, maxHeaderListSize: headerBytes, enablePush: false },
    maxHeaderListPairs: 64,
    unknownProtocolTimeout: lingerMs,
  };
}

function speaksGrpc({ method, headers }: Http2ServerRequest): boolean {
  return method === "POST" && /^application\/grpc(?:\+proto)?(?:;|$)/i.test(headers["content-type"] ?? "");
}

const unknownPath = (path: string) =>
  new LimpetError("ROUTE_UNKNOWN", `the control server has no method ${path.slice(0, 200)}`);
