// Shared parts of the control tests: a fake scheduler, a control server in front of it, and clients of all
// kinds.

import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { isLimpetError, LimpetError } from "../../kernel/errors.ts";
import type { LeaderAnswer, LeaderRequest } from "../../ports/admin.ts";
import type { ControlService, Peer, SchedulerList } from "../../ports/cluster/control-service.ts";
import type {
  ControlListener,
  ControlStream,
  Hello,
  HostMessage,
  SchedulerMessage,
} from "../../ports/control-messages.ts";
import type { ClusterView, StickyPage, StickyQuery } from "../../ports/host-admin.ts";
import { type Log, type LogFields, silentLog } from "../../ports/log.ts";
import { silentMeter } from "../../ports/meter.ts";
import type { ShardSteering, ShardsView } from "../../ports/shard-admin.ts";
import { type ClusterSecurity, NO_SECURITY } from "../cluster-security.ts";
import { type ControlClient, controlClient } from "./client/client.ts";
import { CONTROL_LIMITS, type ControlLimits } from "./limits.ts";
import { type ControlServer, type ControlServerDeps, openControlServer } from "./server/server.ts";

export const HELLO: Hello = {
  kind: "hello",
  namespace: "default",
  incarnation: "i-1",
  replaces: undefined,
  address: "127.0.0.1:7400",
  name: "web-1",
  types: ["Cart"],
  unlocked: new Map([["Cart", { term: 1, number: 7 }]]),
  machine: "m-1",
  pid: 42,
};

/** Resolves when the condition holds. The timeout of the test is the limit. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
}

/** One end of a stream: it records the received messages and the end. */
export class TestListener<In> implements ControlListener<In> {
  readonly received: In[] = [];
  /** Number of notifications of the end. */
  ends = 0;
  error: Error | undefined;
  readonly #ended = Promise.withResolvers<LimpetError | undefined>();

  message(message: In): void {
    this.received.push(message);
  }

  closed(error: Error | undefined): void {
    this.ends++;
    this.error = error;
    this.#ended.resolve(error as LimpetError | undefined);
  }

  get ended(): Promise<LimpetError | undefined> {
    return this.#ended.promise;
  }

  async receives(count: number): Promise<readonly In[]> {
    await until(() => this.received.length >= count || this.ends > 0);
    return this.received;
  }
}

export class ServedHost extends TestListener<HostMessage> {
  readonly stream: ControlStream<SchedulerMessage>;
  readonly peer: Peer;

  constructor(stream: ControlStream<SchedulerMessage>, peer: Peer) {
    super();
    this.stream = stream;
    this.peer = peer;
  }
}

export const EMPTY_VIEW: ClusterView = { term: 1, schedulers: [], hosts: [], tables: [] };

export class FakeScheduler implements ControlService {
  readonly hosts: ServedHost[] = [];
  readonly drained: string[] = [];
  readonly asked: [namespace: string, query: StickyQuery][] = [];
  readonly released: [namespace: string, type: string, id: string][] = [];
  readonly watchers = new Set<(list: SchedulerList) => void>();
  list: SchedulerList = { term: 1, hosts: [] };
  view: () => Promise<ClusterView> = async () => EMPTY_VIEW;
  onDrain: () => Promise<void> = async () => {};
  page: () => Promise<StickyPage> = async () => ({ actors: [], next: undefined });
  onRelease: () => Promise<void> = async () => {};
  onHost: (host: ServedHost) => void = () => {};

  report(stream: ControlStream<SchedulerMessage>, peer: Peer): ControlListener<HostMessage> {
    const host = new ServedHost(stream, peer);
    this.hosts.push(host);
    this.onHost(host);
    return host;
  }

  watch(listener: (list: SchedulerList) => void): () => void {
    this.watchers.add(listener);
    listener(this.list);
    return () => void this.watchers.delete(listener);
  }

  publish(list: SchedulerList): void {
    this.list = list;
    for (const watcher of this.watchers) watcher(list);
  }

  readonly steered: [namespace: string, type: string, steering: ShardSteering][] = [];
  onShards: (namespace: string, type: string) => Promise<ShardsView> = async (_, type) => {
    throw new LimpetError("NOT_SHARDED", `${type} has no shards`);
  };

  admin<R extends LeaderRequest>(request: R): Promise<LeaderAnswer<R>> {
    return this.#answer(request) as Promise<LeaderAnswer<R>>;
  }

  async #answer(request: LeaderRequest): Promise<unknown> {
    switch (request.kind) {
      case "cluster":
        return this.view();
      case "drain":
        this.drained.push(request.host);
        return this.onDrain();
      case "sticky":
        this.asked.push([request.namespace, request.query]);
        return this.page();
      case "release":
        this.released.push([request.namespace, request.type, request.id]);
        return this.onRelease();
      case "shards":
        return this.onShards(request.namespace, request.type);
      case "steerShards":
        this.steered.push([request.namespace, request.type, request.steering]);
        return undefined;
    }
  }

  /** The stream that was opened as the given one. */
  async host(number = 0): Promise<ServedHost> {
    await until(() => this.hosts.length > number);
    return this.hosts[number]!;
  }
}

interface Setting {
  readonly service?: FakeScheduler;
  readonly security?: ClusterSecurity;
  readonly limits?: Partial<ControlLimits>;
  readonly deps?: Partial<ControlServerDeps>;
  readonly port?: number;
}

export async function openTestServer(
  t: TestContext,
  setting: Setting = {},
): Promise<ControlServer & { service: FakeScheduler }> {
  const { service = new FakeScheduler(), security = NO_SECURITY, limits, deps, port = 0 } = setting;
  const testServer = await openControlServer(
    service,
    { host: "127.0.0.1", port, security },
    { log: silentLog, meter: silentMeter, ...deps },
    { ...CONTROL_LIMITS, ...limits },
  );
  t.after(() => testServer.close());
  return { ...testServer, service };
}

export function openClient(
  t: TestContext,
  { address }: { readonly address: string },
  { security = NO_SECURITY, limits }: Setting = {},
): ControlClient {
  const client = controlClient({ address, security, log: silentLog }, { ...CONTROL_LIMITS, ...limits });
  t.after(() => client.close());
  return client;
}

/** A host that has sent its hello, and the scheduler's end of its stream. */
export async function openHost(t: TestContext, setting: Setting = {}) {
  const testServer = await openTestServer(t, setting);
  const client = openClient(t, testServer, setting);
  const listener = new TestListener<SchedulerMessage>();
  const stream = client.report(listener);
  stream.send(HELLO);
  const host = await testServer.service.host();
  await host.receives(1);
  return { testServer, service: testServer.service, client, ear: listener, stream, host };
}

export const hasCode =
  (code: LimpetError["code"], about = /./) =>
  (error: unknown) =>
    isLimpetError(error, code) && about.test(error.message);

/** Records log lines. */
export function rememberingLog(): { log: Log; lines: { level: string; event: string; fields: LogFields }[] } {
  const lines: { level: string; event: string; fields: LogFields }[] = [];
  const at =
    (level: string) =>
    (event: string, fields: LogFields = {}) =>
      void lines.push({ level, event, fields });
  return { log: { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") }, lines };
}

/** A proxy between a client and a server that can cut or freeze the connection. */
export async function openProxy(t: TestContext, port: number) {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on("error", () => {}).on("close", () => sockets.delete(socket));
  };
  const server = createServer((socket) => {
    const there = connect(port, "127.0.0.1");
    keep(socket).pipe(keep(there)).pipe(socket);
    there.once("close", () => socket.destroy());
    socket.once("close", () => there.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  t.after(() => {
    cut();
    server.close();
  });
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    /** Closes as a process does that ends in good order. */
    hangUp: () => {
      for (const socket of sockets) socket.end();
    },
    /** Number of open sockets. */
    open: () => sockets.size,
    /** Stops all traffic without closing a connection. */
    freeze: () => {
      for (const socket of sockets) socket.unpipe().pause();
    },
  };
}
