// Exports of "limpet/client": calls actors from a process that hosts none, over HTTP through any host, or
// directly to the hosts that own them.

import { addressed, messageIdOf, type TypeRegion } from "./actors/message-id.ts";
import { readCallSettings } from "./actors/options/call-settings.ts";
import type { ActorClass, AnyActor, CallSettings, Remote } from "./actors/routing/remote.ts";
import { addressProblem, keyProblem } from "./config/places.ts";
import type { ClusterClient } from "./host/cluster-client.ts";
import { checkRuntime } from "./host/runtime.ts";
import { type Duration, parseDuration } from "./kernel/durations.ts";
import { LimpetError } from "./kernel/errors.ts";
import { checkId, checkMethod, checkNamespace, checkType } from "./kernel/names.ts";
import { callOverHttp, type HttpCall } from "./wire/http/client/remote-call.ts";
import { ServerList } from "./wire/http/client/server-list.ts";

export type { MessageEnvelope as Envelope, TypeRegion as Region } from "./actors/message-id.ts";
export type { ActorClass, CallSettings, Remote } from "./actors/routing/remote.ts";
export type { Duration } from "./kernel/durations.ts";
export type { ErrorCode, Verdict } from "./kernel/errors.ts";
export { isLimpetError, LimpetError } from "./kernel/errors.ts";

export type ClientOptions = HttpOptions | ClusterOptions;

/** Over HTTP, through any host; works from anywhere, and costs a hop when the actor lives on another host. */
export interface HttpOptions {
  /**
   * Address of a host: `http://127.0.0.1:7300`. Of several, the client uses the next one when a host does not
   * accept a call.
   */
  readonly url: string | readonly string[];
  /** One of the tokens that the hosts accept, if they require one. */
  readonly token?: string;
  /** How long a call may take without a timeout of its own; by default the timeout of the actor's type. */
  readonly timeout?: Duration;
}

/** As part of the cluster: the client knows where actors live and calls their hosts itself. */
export interface ClusterOptions {
  /** Schedulers, as `host:port`; any of them is enough to find the others. */
  readonly schedulers: readonly string[];
  /** Namespace of the actors; `default` by default. */
  readonly namespace?: string;
  /** The keys of the cluster, if it has any. */
  readonly keys?: readonly string[];
  /**
   * The store of the cluster: a file or a URL. Needed for a cluster without a key, because its processes then
   * require the secret in the store. The client opens the store once, reads the secret, and closes it.
   */
  readonly store?: string;
  /** How long a call may take without a timeout of its own; a minute by default. */
  readonly timeout?: Duration;
}

/** A client of a cluster keeps its connections, and with them the process, until it is closed. */
export interface Client extends AsyncDisposable {
  /** An actor by its class, which types the calls, or by the name of its type. */
  actor<A extends AnyActor>(type: ActorClass<A>, id: string, settings?: CallSettings): Remote<A>;
  actor<A extends AnyActor = never>(type: string, id: string, settings?: CallSettings): Remote<A>;
  /**
   * All actors of a class: each call goes to the actor that its message names, by the `messageId` of the
   * class or in an envelope. With only the name of the type, messages are envelopes.
   */
  region<A extends AnyActor>(type: ActorClass<A>, settings?: CallSettings): TypeRegion<A>;
  region<A extends AnyActor = never>(type: string, settings?: CallSettings): TypeRegion<A>;
  /** Rejects new calls and resolves when the calls in progress have ended. */
  close(): Promise<void>;
}

/**
 * Connects with the first call, and reuses connections. With several hosts the client stays with the one that
 * works. It never repeats a call that may have run.
 */
export function connect(options: ClientOptions): Client {
  const timeoutMs = options.timeout === undefined ? undefined : parseTimeout(options.timeout);
  if ("schedulers" in options) return new CallingClient(clusterTransport(options, timeoutMs), timeoutMs);
  return new CallingClient(httpTransport(options), timeoutMs);
}

/** Delivers calls to hosts. */
interface Transport {
  call(call: HttpCall): Promise<unknown>;
  close(): Promise<void>;
}

function httpTransport({ url, token }: HttpOptions): Transport {
  const urls = new Set((typeof url === "string" ? [url] : [...url]).map(checkUrl));
  if (urls.size === 0) throw new LimpetError("OPTION_INVALID", "url must name at least one host");
  const servers = new ServerList([...urls].map((each) => ({ url: each, token })));
  return { call: (call) => callOverHttp(servers, call), close: async () => {} };
}

function clusterTransport(options: ClusterOptions, timeoutMs: number | undefined): Transport {
  checkRuntime();
  const { schedulers, namespace = "default", keys = [], store } = options;
  if (schedulers.length === 0) throw new LimpetError("OPTION_INVALID", "schedulers must name at least one scheduler");
  for (const address of schedulers) check("schedulers", addressProblem(address), address);
  for (const key of keys) check("keys", keyProblem(key));
  checkNamespace(namespace);
  // Loaded on the first call: HTTP clients do not need these modules.
  const open = async (): Promise<ClusterClient> => {
    const { ClusterClient } = await import("./host/cluster-client.ts");
    const secret = keys.length > 0 || store === undefined ? undefined : await readSecret(store);
    return new ClusterClient({ schedulers, namespace, keys, secret, timeoutMs });
  };
  let opening: Promise<ClusterClient> | undefined;
  const opened = (): Promise<ClusterClient> => {
    opening ??= open().catch((error: unknown) => {
      // The next call tries again, and there is nothing to close.
      opening = undefined;
      throw error;
    });
    return opening;
  };
  return {
    call: async (call) => (await opened()).call(call),
    close: async () => (await opening?.catch(() => undefined))?.close(),
  };
}

async function readSecret(location: string): Promise<string> {
  const { clusterSecret } = await import("./host/open-store.ts");
  return clusterSecret(location);
}

function check(name: string, problem: string | undefined, shown?: string): void {
  if (problem === undefined) return;
  throw new LimpetError("OPTION_INVALID", `${name}: ${shown === undefined ? "one" : JSON.stringify(shown)} ${problem}`);
}

type Send = (method: string, args: unknown[]) => Promise<unknown>;

class CallingClient implements Client {
  readonly #transport: Transport;
  readonly #timeoutMs: number | undefined;
  readonly #inProgress = new Set<Promise<unknown>>();
  #closed = false;

  constructor(transport: Transport, timeoutMs: number | undefined) {
    this.#transport = transport;
    this.#timeoutMs = timeoutMs;
  }

  actor(of: ActorClass | string, id: string, settings: CallSettings = {}): never {
    const type = typeName(of);
    checkId(id);
    const sending = this.#sending(type, settings);
    return handle(`${type}/${id}`, async (method, args) => sending(id, method, args)) as never;
  }

  region(of: ActorClass | string, settings: CallSettings = {}): never {
    const type = typeName(of);
    const own = messageIdOf({ types: new Map() }, type, of);
    const sending = this.#sending(type, settings);
    const send: Send = async (method, message) => {
      const { id, args } = addressed(type, method, message, own);
      return sending(id, method, args);
    };
    return handle(`region of ${type}`, send) as never;
  }

  #sending(type: string, settings: CallSettings): (id: string, ...call: Parameters<Send>) => Promise<unknown> {
    const { signal, timeoutMs = this.#timeoutMs } = readCallSettings(settings);
    if (timeoutMs === 0) throw new LimpetError("OPTION_INVALID", "timeout must be longer than 0");
    return async (id, method, args) => {
      if (this.#closed) throw new LimpetError("STOPPING", "this client is closed");
      checkMethod(method);
      const call = this.#transport.call({ type, id, method, args, timeoutMs, signal });
      this.#inProgress.add(call);
      return call.finally(() => this.#inProgress.delete(call));
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#inProgress);
    await this.#transport.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function typeName(of: ActorClass | string): string {
  const type = typeof of === "string" ? of : (of?.options?.name ?? of?.name);
  checkType(type);
  return type;
}

function handle(label: string, send: Send): object {
  return new Proxy(Object.create(null) as object, {
    get(_target, name) {
      // A handle must not look like a promise, or `await` would call it, and must not have a `toJSON`.
      if (typeof name === "symbol" || name === "then" || name === "toJSON") return undefined;
      if (name === "toString") return () => label;
      return (...args: unknown[]) => send(name, args);
    },
    set(_target, name) {
      throw new LimpetError(
        "ARGUMENT_INVALID",
        `${String(name)} cannot be set on an actor from outside; call a method`,
      );
    },
  });
}

function parseTimeout(timeout: Duration): number {
  const ms = parseDuration(timeout, "timeout");
  if (ms === 0) throw new LimpetError("OPTION_INVALID", "timeout must be longer than 0");
  return ms;
}

function checkUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new LimpetError("OPTION_INVALID", "url must be the address of a host, for example http://127.0.0.1:7300");
  }
  if (url.username !== "" || url.password !== "") {
    throw new LimpetError("OPTION_INVALID", "url must not contain a user or a password; set token instead");
  }
  return url.origin + url.pathname.replace(/\/+$/, "");
}
