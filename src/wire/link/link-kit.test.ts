// Shared parts of the link tests: an observable service, callers that record their outcome, a raw peer that
// sends any bytes, and a wire that can be cut.
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import type {
  Cancel,
  LinkService,
  Links,
  Ownership,
  RemoteAnswer,
  RemoteCall,
  RemoteCaller,
} from "../../ports/links.ts";
import type { Log, LogFields } from "../../ports/log.ts";
import { type ClusterSecurity, NO_SECURITY } from "../cluster-security.ts";
import { FrameWriter } from "./frame-writer.ts";
import { writeHello } from "./hello.ts";
import { LINK_LIMITS, type LinkLimits } from "./limits.ts";
import { openLinks } from "./links.ts";
import { type LinkServer, type LinkServerDeps, openLinkServer } from "./server.ts";

export const NAMESPACE = "default";

/** Records log lines. */
export class Lines implements Log {
  readonly all: { readonly event: string; readonly fields: LogFields | undefined }[] = [];
  debug = this.#note();
  info = this.#note();
  warn = this.#note();
  error = this.#note();

  #note() {
    return (event: string, fields?: LogFields): void => void this.all.push({ event, fields });
  }

  of(event: string): readonly LogFields[] {
    return this.all.filter((line) => line.event === event).map(({ fields }) => fields ?? {});
  }
}

export interface Serving {
  readonly call: RemoteCall;
  readonly answer: RemoteAnswer;
  cancels: number;
}

/** Records every call. A call that `respond` does not answer stays open. */
export class Service implements LinkService {
  readonly served: Serving[] = [];
  respond: (call: RemoteCall, answer: RemoteAnswer) => void;

  constructor(respond: (call: RemoteCall, answer: RemoteAnswer) => void = () => {}) {
    this.respond = respond;
  }

  serve(call: RemoteCall, answer: RemoteAnswer): Cancel {
    const serving = { call, answer, cancels: 0 };
    this.served.push(serving);
    this.respond(call, answer);
    return () => {
      serving.cancels++;
    };
  }
}

export type Outcome = readonly [how: keyof RemoteCaller, what: unknown];

/** Records its outcomes, of which there should be one. */
export class Caller implements RemoteCaller {
  readonly outcomes: Outcome[] = [];
  readonly #first = Promise.withResolvers<Outcome>();

  get outcome(): Promise<Outcome> {
    return this.#first.promise;
  }

  value(result: unknown): void {
    this.#record("value", result);
  }

  error(error: unknown): void {
    this.#record("error", error);
  }

  notOwner(ownership: Ownership): void {
    this.#record("notOwner", ownership);
  }

  unsent(error: Error): void {
    this.#record("unsent", error);
  }

  lost(error: Error): void {
    this.#record("lost", error);
  }

  #record(how: keyof RemoteCaller, what: unknown): void {
    this.outcomes.push([how, what]);
    this.#first.resolve([how, what]);
  }
}

export function callOf(args: readonly unknown[] = [], more: Partial<RemoteCall> = {}): RemoteCall {
  const names = { namespace: NAMESPACE, type: "Cart", id: "ada", method: "add" };
  return { ...names, args, timeoutMs: 30_000, hops: 0, passOn: false, causes: [], ...more };
}

/** Makes a call and waits for its outcome. */
export function ask(links: Links, address: string, args: readonly unknown[] = [], more: Partial<RemoteCall> = {}) {
  const caller = new Caller();
  links.call(address, callOf(args, more), caller);
  return caller.outcome;
}

export interface PairOptions {
  readonly limits?: Partial<LinkLimits>;
  readonly security?: ClusterSecurity;
}

/** A link server with a service behind it, and links to call it; closed with the test. */
export class Pair implements AsyncDisposable {
  readonly service: Service;
  readonly testServer: LinkServer;
  readonly links: Links;
  readonly serverLog: Lines;
  readonly linksLog: Lines;

  private constructor(service: Service, testServer: LinkServer, links: Links, serverLog: Lines, linksLog: Lines) {
    this.service = service;
    this.testServer = testServer;
    this.links = links;
    this.serverLog = serverLog;
    this.linksLog = linksLog;
  }

  static async open(service: Service, { limits = {}, security = NO_SECURITY }: PairOptions = {}): Promise<Pair> {
    const all = { ...LINK_LIMITS, ...limits };
    const [serverLog, linksLog] = [new Lines(), new Lines()];
    const listen = { host: "127.0.0.1", port: 0, namespace: NAMESPACE, security };
    const testServer = await openLinkServer(service, listen, { log: serverLog }, all);
    const links = openLinks({ address: "127.0.0.1:1", namespace: NAMESPACE, security, log: linksLog }, all);
    return new Pair(service, testServer, links, serverLog, linksLog);
  }

  ask(args: readonly unknown[] = [], more: Partial<RemoteCall> = {}): Promise<Outcome> {
    return ask(this.links, this.testServer.address, args, more);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.links.close();
    await this.testServer.close();
  }
}

export const LISTEN = { host: "127.0.0.1", port: 0, namespace: NAMESPACE, security: NO_SECURITY };

/** A link server alone; closed with the test. */
export async function openTestServer(
  service: LinkService,
  { limits = {}, ...listen }: Partial<typeof LISTEN> & { readonly limits?: Partial<LinkLimits> } = {},
  deps: LinkServerDeps = { log: new Lines() },
): Promise<LinkServer & AsyncDisposable> {
  const testServer = await openLinkServer(service, { ...LISTEN, ...listen }, deps, { ...LINK_LIMITS, ...limits });
  return Object.assign(testServer, { [Symbol.asyncDispose]: () => testServer.close() });
}

export const portOf = (address: string): number => Number(address.split(":").at(-1));

export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 300_000;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** Builds frames by hand, for a peer that breaks the rules. */
export function frame(
  ...messages: readonly (readonly (string | number | boolean | null | readonly string[])[])[]
): Buffer {
  const writer = new FrameWriter();
  writer.begin();
  for (const [kind, ...fields] of messages) {
    writer.message(fields.length + 1, kind as number);
    for (const field of fields) {
      if (typeof field === "object" && field !== null) {
        writer.list(field.length);
        for (const item of field) writer.text(item);
      } else writer.primitive(field);
    }
  }
  return writer.finish();
}

export const hello = (namespace = NAMESPACE): Buffer =>
  Buffer.from(writeHello(new FrameWriter(), { namespace, address: "", version: "" }));

/** A socket that sends any bytes. */
export class RawPeer implements Disposable {
  readonly socket: Socket;
  readonly received: Buffer[] = [];
  isClosed = false;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket
      .on("data", (piece) => this.received.push(piece))
      .on("error", () => {})
      .on("close", () => {
        this.isClosed = true;
      });
  }

  static async connect(address: string, ...greeting: readonly Buffer[]): Promise<RawPeer> {
    const socket = connect(portOf(address), "127.0.0.1");
    const peer = new RawPeer(socket);
    await once(socket, "connect");
    for (const bytes of greeting) socket.write(bytes);
    return peer;
  }

  static on(socket: Socket): RawPeer {
    return new RawPeer(socket);
  }

  /** All received bytes as text. */
  get text(): string {
    return Buffer.concat(this.received).toString("latin1");
  }

  closed(): Promise<void> {
    return until("the connection is closed", () => this.isClosed);
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}

/** A server with a given behaviour. */
export class RawServer implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  connections = 0;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(behave: (socket: Socket) => void): Promise<RawServer> {
    const server = createServer();
    const raw = new RawServer(server);
    server.on("connection", (socket) => {
      raw.connections++;
      raw.#sockets.add(socket);
      socket.on("error", () => {}).on("close", () => raw.#sockets.delete(socket));
      behave(socket);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return raw;
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  destroyAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.destroyAll();
    await closed;
  }
}

/** Lies between links and a server, and forwards all bytes until it is cut or frozen. */
export class Wire implements AsyncDisposable {
  readonly #to: number;
  readonly #raw: Promise<RawServer>;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  /** Bytes that pass in either direction before the connection is cut. */
  cutAfter = Number.POSITIVE_INFINITY;
  isFrozen = false;
  /** Chunks that passed, in both directions. */
  pieces = 0;
  onPiece: (piece: Buffer) => void = () => {};

  private constructor(to: number) {
    this.#to = to;
    this.#raw = RawServer.open((near) => this.#join(near));
  }

  static async before(address: string): Promise<Wire & { readonly address: string }> {
    const wire = new Wire(portOf(address));
    const { address: own } = await wire.#raw;
    return Object.assign(wire, { address: own });
  }

  /** Connections that pass through it now. */
  get open(): number {
    return this.#pairs.size;
  }

  cut(): void {
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy();
  }

  #join(near: Socket): void {
    const far = connect(this.#to, "127.0.0.1");
    const pair = [near, far] as const;
    this.#pairs.add(pair);
    for (const [from, to] of [pair, [far, near]] as const) {
      from
        .on("error", () => {})
        .on("close", () => {
          this.#pairs.delete(pair);
          to.destroy();
        });
      from.on("data", (piece: Buffer) => this.#pass(piece, from, to));
    }
  }

  #pass(piece: Buffer, from: Socket, to: Socket): void {
    if (this.isFrozen) return;
    this.pieces++;
    this.onPiece(piece);
    const allowed = piece.subarray(0, Math.max(this.cutAfter, 0));
    this.cutAfter -= piece.length;
    if (allowed.length > 0) to.write(allowed);
    if (this.cutAfter >= 0) return;
    to.end();
    from.destroy();
    this.cutAfter = Number.POSITIVE_INFINITY;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await (await this.#raw)[Symbol.asyncDispose]();
  }
}
