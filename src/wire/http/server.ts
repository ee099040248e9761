// The HTTP server: it listens, admits clients, passes each request to its handler, and closes without losing
// an answer. Every input gets a defined answer or a closed connection; no exception leaves this file.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import { isLimpetError, LimpetError } from "../../kernel/errors.ts";
import type { ServerHost } from "../../ports/host-admin.ts";
import type { Log } from "../../ports/log.ts";
import type { Meter } from "../../ports/meter.ts";
import { ByteBudget } from "../byte-budget.ts";
import { listenAt } from "../listening.ts";
import { errorAnswer, type HttpAnswer, NOT_DELIVERED } from "./answers.ts";
import { answerAndClose, refuseBroken } from "./broken-requests.ts";
import { HttpConnections } from "./connections.ts";
import { type ExchangeLimits, HttpExchange } from "./exchange.ts";
import { hostRoutes } from "./host-api/routes.ts";
import { HttpMetrics } from "./http-metrics.ts";
import { HTTP_LIMITS, type HttpLimits } from "./limits.ts";
import type { RouteGroup } from "./route.ts";
import { HttpRouter, type RouteMatch } from "./router.ts";
import { checkServerSettings, createGuard, type Guard, type HttpServerSettings } from "./security.ts";

export type { HttpServerSettings } from "./security.ts";

export interface HttpServerDeps {
  readonly meter: Meter;
  readonly renderMetrics: () => string;
  readonly log: Log;
  /** Further routes, such as those of workers in other languages. */
  readonly routes?: readonly RouteGroup[];
}

export interface HttpServer {
  readonly url: string;
  /**
   * Lets requests in progress finish while `work`, which answers them, still runs, but at least for
   * `drainMs`. Then it cuts the rest.
   */
  close(work?: Promise<unknown>): Promise<void>;
}

export async function openHttpServer(
  host: ServerHost,
  settings: HttpServerSettings,
  deps: HttpServerDeps,
  limits: HttpLimits = HTTP_LIMITS,
): Promise<HttpServer> {
  checkServerSettings(settings);
  const router = new HttpRouter([hostRoutes(host, deps.renderMetrics), ...(deps.routes ?? [])]);
  const server = new ListeningServer(router, createGuard(settings), deps, limits);
  const port = await server.listen(settings);
  const url = `http://${urlHost(settings.host)}:${port}`;
  deps.log.info("http.listening", { url });
  return { url, close: (work) => server.close(work) };
}

class ListeningServer {
  readonly #router: HttpRouter;
  readonly #guard: Guard;
  readonly #log: Log;
  readonly #metrics: HttpMetrics;
  readonly #shares: ExchangeLimits;
  readonly #connections = new HttpConnections();
  readonly #server: Server;
  #looking: NodeJS.Timeout | undefined;
  #closed: Promise<void> | undefined;

  constructor(router: HttpRouter, guard: Guard, deps: HttpServerDeps, limits: HttpLimits) {
    this.#router = router;
    this.#guard = guard;
    this.#log = deps.log;
    this.#metrics = new HttpMetrics(deps.meter);
    this.#shares = { limits, budget: new ByteBudget(limits.heldBytes) };
    this.#server = createServer({
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headerTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: limits.checkEveryMs,
      // The guard reports it with our own error.
      requireHostHeader: false,
    });
    this.#server.maxConnections = limits.connections;
    this.#server
      .on("connection", (socket: Socket) => this.#connections.open(socket))
      .on("request", (request, response) => this.#begin(request, response, false))
      .on("checkContinue", (request, response) => this.#begin(request, response, true))
      .on("checkExpectation", (request, response) => this.#begin(request, response, true))
      .on("connect", (_request, socket) => this.#refuseTunnel(socket as Socket))
      .on("clientError", (error, socket) => this.#refuseBroken(error, socket as Socket));
  }

  async listen(at: HttpServerSettings): Promise<number> {
    const port = await listenAt(this.#server, at, (err) => this.#log.error("http.failed", { err }));
    const { checkEveryMs, answerTimeoutMs } = this.#shares.limits;
    const lookMs = Math.min(checkEveryMs, answerTimeoutMs);
    this.#looking = setInterval(() => this.#connections.waited(lookMs), lookMs).unref();
    return port;
  }

  close(work?: Promise<unknown>): Promise<void> {
    this.#closed ??= this.#drain(work);
    return this.#closed;
  }

  async #drain(work: Promise<unknown> | undefined): Promise<void> {
    const server = this.#server;
    // Only stops listening. The close() of an HTTP server would also cut connections with a written but
    // unread answer, and idle ones on which a request is arriving; here such a request is answered with
    // STOPPING.
    const closed = new Promise<void>((resolve) => stopListening(server, () => resolve()));
    const quiet = this.#connections.quiet();
    const { drainMs, lingerMs } = this.#shares.limits;
    // A turn that still runs may commit, so its caller must get the answer.
    await Promise.race([quiet, Promise.allSettled([within(drainMs, quiet), work])]);
    // Answers that the work has just given are being sent.
    await within(work === undefined ? 0 : lingerMs, quiet);
    clearInterval(this.#looking);
    server.closeAllConnections();
    await closed;
    // Ends the timeout checks; the error of a server that is closed already is ignored.
    server.close(() => {});
  }

  #begin(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void {
    const exchange = new HttpExchange(request, response, this.#shares, expectsContinue);
    // Without a listener, an answer to a broken connection would be an uncaught error.
    response.on("error", () => {});
    const onConnection = this.#connections.begin(exchange);
    // The connection is closed.
    if (onConnection === 0) return;
    this.#serve(exchange, onConnection).catch((err: unknown) => {
      this.#log.error("http.failed", { err });
      request.socket.destroy();
    });
  }

  async #serve(exchange: HttpExchange, onConnection: number): Promise<void> {
    const started = performance.now();
    const { request } = exchange;
    const match = this.#router.find(request.method ?? "", request.url ?? "");
    const answer = await this.#answerTo(match, exchange, onConnection);
    const status = request.socket.destroyed ? 499 : answer.status;
    this.#metrics.count(labelOf(match), status, (performance.now() - started) / 1_000);
    exchange.answer(answer, this.#closed !== undefined);
  }

  async #answerTo(match: RouteMatch, exchange: HttpExchange, onConnection: number): Promise<HttpAnswer> {
    const { group, route, problem } = match;
    try {
      const isProbe = route?.scope === "health";
      if (isProbe) exchange.isTrusted = this.#guard(exchange.request, true) === undefined;
      const refused =
        this.#guard(exchange.request, !isProbe) ??
        this.#unwilling(match, exchange, onConnection) ??
        (route?.isServedWhenFull || exchange.hasCapacity ? undefined : noCapacity());
      if (refused !== undefined) return errorAnswer(refused, NOT_DELIVERED);
      if (route === undefined || problem !== undefined) {
        return group.refuse(problem!, exchange.request.method ?? "", match.allow);
      }
      exchange.bodyBytes = Math.min(exchange.bodyBytes, route.limits.bodyBytes);
      return await group.handle(route, match.names, match.query, exchange);
    } catch (error) {
      if (isLimpetError(error) && error.code !== "INVARIANT") return errorAnswer(error);
      this.#log.error("http.failed", { route: labelOf(match), err: error });
      return errorAnswer(new LimpetError("INVARIANT", "internal error in the host; see its log"));
    }
  }

  #unwilling({ route }: RouteMatch, { request, limits }: HttpExchange, onConnection: number): LimpetError | undefined {
    const { expect } = request.headers;
    if (expect !== undefined && expect.toLowerCase() !== "100-continue") {
      return new LimpetError("REQUEST_INVALID", "header expect can only be 100-continue");
    }
    if (this.#closed !== undefined && !route?.isServedWhenStopping) {
      return new LimpetError("STOPPING", "this host is stopping");
    }
    if (onConnection <= limits.pipelined) return undefined;
    return new LimpetError("HOST_FULL", `more than ${limits.pipelined} requests are in progress on this connection`);
  }

  #refuseBroken(error: NodeJS.ErrnoException, socket: Socket): void {
    const { limits } = this.#shares;
    const answer = refuseBroken(error, socket, this.#connections.on(socket), limits);
    if (answer !== undefined) this.#metrics.count("none", answer.status);
  }

  #refuseTunnel(socket: Socket): void {
    const error = new LimpetError("VERB_NOT_ALLOWED", "this is not a proxy");
    const answer = errorAnswer(error, { allow: "GET, POST, PUT, DELETE" });
    this.#metrics.count("none", answer.status);
    socket.on("error", () => socket.destroy());
    answerAndClose(socket, answer, this.#shares.limits.lingerMs);
  }
}

const labelOf = ({ route, group }: RouteMatch): string => route?.label ?? group.label;

const noCapacity = () =>
  new LimpetError("HOST_FULL", "too many large requests are in progress, or answers that clients have not read");

async function within(ms: number, work: Promise<void>): Promise<void> {
  const { promise: tooLong, resolve: stopWaiting } = Promise.withResolvers<void>();
  const timer = setTimeout(stopWaiting, ms);
  await Promise.race([work, tooLong]);
  clearTimeout(timer);
}

/** Bun's HTTP server is not a node:net server, so there its own close() is used. */
function stopListening(server: Server, done: () => void): void {
  if (process.versions.bun === undefined) NetServer.prototype.close.call(server, done);
  else server.close(done);
}

function urlHost(host: string): string {
  if (host === "" || host === "0.0.0.0" || host === "::") return "localhost";
  return host.includes(":") ? `[${host}]` : host;
}
