// The one connection of a client to its scheduler. It opens at the first request and is ready once the peer
// has answered in HTTP/2. After a failure it opens again for the next request. An attempt to connect is
// limited in time.
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type OutgoingHttpHeaders,
  type SecureClientSessionOptions,
} from "node:http2";
import { LimpetError } from "../../../kernel/errors.ts";
import { type ClusterSecurity, clientTls, connectFailure, keysOrSecret } from "../../cluster-security.ts";
import { keepAlive } from "../keep-alive.ts";
import type { ControlLimits } from "../limits.ts";

export class SchedulerConnection {
  readonly authority: string;
  readonly #address: string;
  readonly #security: ClusterSecurity;
  readonly #limits: ControlLimits;
  readonly #options: SecureClientSessionOptions;
  /** A session that is closing may still carry streams. */
  readonly #sessions = new Set<ClientHttp2Session>();
  #session: ClientHttp2Session | undefined;
  #opening: Promise<ClientHttp2Session> | undefined;
  #closed = false;

  constructor(address: string, security: ClusterSecurity, limits: ControlLimits) {
    this.#address = address;
    this.#security = keysOrSecret(security);
    const tls = clientTls(this.#security);
    this.#limits = limits;
    this.#options = { ...tls, settings: { enablePush: false, maxHeaderListSize: limits.headerBytes } };
    this.authority = new URL(`${tls === undefined ? "http" : "https"}://${address}`).origin;
  }

  /** Called by the library, which sends every request through this method. */
  async request(method: string, path: string, headers: OutgoingHttpHeaders): Promise<ClientHttp2Stream> {
    const session = await this.ready();
    const stream = session.request({ ...headers, ":method": method, ":path": path }, { endStream: false });
    let answered = false;
    stream.once("response", () => {
      answered = true;
    });
    // The library would wait for ever on a stream that closes without an answer and without an error.
    stream.once("close", () => {
      if (!answered && stream.errored === null) stream.emit("error", this.#lost());
    });
    return stream;
  }

  #lost(): LimpetError {
    if (this.#closed) return new LimpetError("STOPPING", `this process has closed its connection to ${this.#address}`);
    return new LimpetError("UNREACHABLE", `${this.#address} was lost: it closed the stream without an answer`);
  }

  /** The library reports read bytes; this class detects dead connections in another way. */
  notifyResponseByteRead(): void {}

  /** Closes the connection immediately, with all of its streams. */
  close(): void {
    this.#closed = true;
    for (const session of this.#sessions) session.destroy();
  }

  /** Rejects with a LimpetError, in which case nothing was sent. */
  async ready(): Promise<ClientHttp2Session> {
    if (this.#closed) throw this.#lost();
    const session = this.#session;
    if (session !== undefined && !session.closed && !session.destroyed) return session;
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #open(): Promise<ClientHttp2Session> {
    const session = connect(this.authority, this.#options);
    this.#sessions.add(session);
    // Each stream is notified itself. Without a listener this would be an uncaught error.
    session.on("error", () => {});
    session.once("close", () => this.#sessions.delete(session));
    try {
      await this.#settled(session);
    } catch (error) {
      session.destroy();
      throw connectFailure(error, this.#address, this.#security);
    }
    keepAlive(session, { who: this.#address, inUse: () => true }, this.#limits);
    this.#session = session;
    return session;
  }

  /** A connected socket proves little: a black hole or a web server accepts connections too. */
  #settled(session: ClientHttp2Session): Promise<void> {
    const { connectMs } = this.#limits;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const tooLate = () =>
      reject(new LimpetError("UNREACHABLE", `${this.#address} cannot be reached: no answer within ${connectMs} ms`));
    const timer = setTimeout(tooLate, connectMs);
    session.once("remoteSettings", () => resolve());
    session.once("error", reject);
    session.once("close", () => reject(Object.assign(new Error("closed"), { code: "ECONNRESET" })));
    return promise.finally(() => clearTimeout(timer));
  }
}
