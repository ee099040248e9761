// The link server of a host: accepts connections of other hosts, serves their calls, and closes without
// losing an answer.
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { formatAddress } from "../../kernel/addresses.ts";
import type { LinkService } from "../../ports/links.ts";
import type { Log } from "../../ports/log.ts";
import { type Counter, type Gauge, type Meter, silentMeter } from "../../ports/meter.ts";
import { ByteBudget } from "../byte-budget.ts";
import { type ClusterSecurity, secretToProve, serverTls } from "../cluster-security.ts";
import { listenAt } from "../listening.ts";
import { RefusalLog } from "../refusal-log.ts";
import { Inbound, type InboundLimits } from "./inbound.ts";
import { LINK_LIMITS, type LinkLimits } from "./limits.ts";
import { proveAsServer } from "./proof.ts";

export interface LinkServerSettings {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly namespace: string;
  readonly security: ClusterSecurity;
  /** The version of Limpet. */
  readonly version?: string;
}

export interface LinkServerDeps {
  readonly log: Log;
  readonly meter?: Meter;
}

export interface LinkServer {
  /** The address on which it listens: "ip:port". */
  readonly address: string;
  /**
   * Asks the callers to leave, waits a limited time for the calls in progress, and closes every connection.
   */
  close(): Promise<void>;
}

export async function openLinkServer(
  service: LinkService,
  listen: LinkServerSettings,
  deps: LinkServerDeps,
  limits: LinkLimits = LINK_LIMITS,
): Promise<LinkServer> {
  const server = new ListeningLinkServer(service, listen, deps, limits);
  await server.listen();
  return server;
}

class ListeningLinkServer implements LinkServer, InboundLimits {
  readonly #settings: LinkServerSettings;
  readonly #server: Server;
  readonly #connections: Gauge;
  /** Open sockets, including sockets without a finished TLS handshake or hello. */
  readonly #sockets = new Set<Socket>();
  readonly #inbounds = new Set<Inbound>();
  #port = 0;
  #closed: Promise<void> | undefined;
  /** The last time a connection had no calls left. */
  #idleAt = 0;
  #onChange: (() => void) | undefined;
  readonly service: LinkService;
  readonly limits: LinkLimits;
  readonly log: Log;
  readonly refusals: RefusalLog;
  readonly held: ByteBudget;
  readonly calls: Counter;

  constructor(service: LinkService, settings: LinkServerSettings, deps: LinkServerDeps, limits: LinkLimits) {
    const { log, meter = silentMeter } = deps;
    this.service = service;
    this.limits = limits;
    this.log = log;
    this.refusals = new RefusalLog(log, "link.refused");
    this.held = new ByteBudget(limits.heldBytes);
    this.calls = meter.counter("limpet_link_calls_total", "Calls received from other hosts.");
    this.#connections = meter.gauge("limpet_link_connections", "Open connections from other hosts.");
    this.#settings = settings;
    const tls = serverTls(settings.security);
    this.#server = tls === undefined ? createServer() : createTlsServer(tls);
    this.#server.maxConnections = limits.connections;
    this.#server
      .on("connection", (socket: Socket) => this.#opened(socket))
      .on(tls === undefined ? "connection" : "secureConnection", (socket: Socket) => this.#admit(socket))
      .on("drop", (drop) => this.refusals.refused({ peer: String(drop?.remoteAddress), why: "too many connections" }))
      .on("tlsClientError", (error: NodeJS.ErrnoException, socket: Socket) => this.#strange(error, socket));
  }

  get address(): string {
    return formatAddress(this.#settings.host, this.#port);
  }

  get own() {
    const { namespace, version = "" } = this.#settings;
    return { namespace, address: this.address, version };
  }

  async listen(): Promise<void> {
    const { host, port } = this.#settings;
    this.#port = await listenAt(this.#server, { host, port }, (err) => this.log.error("link.failed", { err }));
    this.log.info("link.listening", { address: this.address });
  }

  close(): Promise<void> {
    this.#closed ??= this.#drain();
    return this.#closed;
  }

  onIdle(): void {
    if (this.#closed === undefined) return;
    this.#idleAt = performance.now();
    this.#onChange?.();
  }

  onClosed(inbound: Inbound): void {
    this.#inbounds.delete(inbound);
    this.#connections.set(this.#inbounds.size);
    this.#onChange?.();
  }

  async #drain(): Promise<void> {
    const { closeMs, lingerMs } = this.limits;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#idleAt = performance.now();
    const latest = this.#idleAt + closeMs;
    for (const inbound of this.#inbounds) inbound.leave();
    // Callers close their connections after their last answer. A dead caller never does, so the wait is
    // limited.
    while (this.#inbounds.size > 0) {
      const until = this.#isQuiet() ? Math.min(this.#idleAt + lingerMs, latest) : latest;
      const leftMs = until - performance.now();
      if (leftMs <= 0) break;
      await this.#change(leftMs);
    }
    for (const inbound of this.#inbounds) inbound.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** Resolves when a connection closes or has no calls left, or when the time is over. */
  async #change(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onChange = resolve;
    const timer = setTimeout(resolve, ms);
    await promise;
    clearTimeout(timer);
  }

  #isQuiet(): boolean {
    for (const { inProgress } of this.#inbounds) if (inProgress > 0) return false;
    return true;
  }

  #opened(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => {}).on("close", () => this.#sockets.delete(socket));
  }

  #admit(socket: Socket): void {
    const secret = secretToProve(this.#settings.security);
    if (secret === undefined) {
      this.#begin(socket);
      return;
    }
    const timer = setTimeout(() => refuse("it sent no proof of the store secret in time"), this.limits.helloMs);
    const stop = proveAsServer(socket, secret, (problem) => {
      clearTimeout(timer);
      if (problem === undefined) this.#begin(socket);
      else refuse(problem);
    });
    const refuse = (why: string): void => {
      stop();
      this.refusals.refused({ peer: String(socket.remoteAddress), why });
      socket.destroy();
    };
    socket.once("close", () => clearTimeout(timer));
  }

  #begin(socket: Socket): void {
    const inbound = new Inbound(socket, this);
    this.#inbounds.add(inbound);
    this.#connections.set(this.#inbounds.size);
    inbound.start();
    if (this.#closed !== undefined) inbound.leave();
  }

  #strange(error: NodeJS.ErrnoException, socket: Socket): void {
    this.refusals.refused({ peer: String(socket.remoteAddress), why: error.code ?? error.message });
    socket.destroy();
  }
}
