// Shared parts of the HTTP server tests: a fake host, a server in front of it, and a client that sends any
// bytes.

import { connect, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { adminDispatcher } from "../../admin/dispatcher.ts";
import type {
  CallOptions,
  ClusterView,
  HostStatus,
  ListQuery,
  ServerHost,
  StickyPage,
  StickyQuery,
  Whereabouts,
} from "../../ports/host-admin.ts";
import { silentLog } from "../../ports/log.ts";
import { type Labels, type Meter, silentMeter } from "../../ports/meter.ts";
import type {
  DeadReminderSummary,
  NewReminder,
  ReminderAdmin,
  ReminderFound,
  ReminderName,
  ReminderPage,
  ReminderPageQuery,
  ReminderSummary,
} from "../../ports/reminder-admin.ts";
import type { ShardSteering, ShardsSummary, ShardsView } from "../../ports/shard-admin.ts";
import { FakeWorkflows } from "./fake-workflows.test.ts";
import { HTTP_LIMITS, type HttpLimits } from "./limits.ts";
import { type HttpServerDeps, type HttpServerSettings, openHttpServer } from "./server.ts";

export interface SeenCall {
  readonly type: string;
  readonly id: string;
  readonly method: string;
  readonly args: readonly unknown[];
  readonly options: CallOptions;
}

export const CLUSTER: ClusterView = {
  term: 3,
  schedulers: [{ address: "127.0.0.1:7400", incarnation: "sched-1", dedicated: true, leader: true }],
  hosts: [
    {
      namespace: "default",
      address: "127.0.0.1:7401",
      name: "alpha",
      incarnation: "inc-1",
      state: "member",
      leaseLeftMs: 8_000,
      types: ["Cart"],
      actors: 2,
    },
  ],
  tables: [
    {
      namespace: "default",
      type: "Cart",
      version: 4,
      term: 3,
      hosts: ["127.0.0.1:7401"],
      phase: "settled",
      waitsFor: [],
      sticky: {
        lost: "never",
        holders: [{ address: "127.0.0.1:7401", name: "alpha", actors: 2, away: false }],
      },
    },
  ],
};

type Methods = Record<string, (call: SeenCall) => unknown>;

/** Records its requests, and knows only the data that a test sets. */
export class FakeReminders implements ReminderAdmin {
  readonly asked: unknown[][] = [];
  isSet = true;
  isHelped = true;
  found: ReminderFound | undefined;
  now = 1_000;
  reminders: ReminderSummary[] = [];
  dead: DeadReminderSummary[] = [];
  counts = { all: 0, overdue: 0, dead: 0 };

  async set(name: ReminderName, reminder: NewReminder): Promise<boolean> {
    this.asked.push(["set", name, reminder]);
    return this.isSet;
  }

  async get(name: ReminderName): Promise<ReminderFound | undefined> {
    this.asked.push(["get", name]);
    return this.found;
  }

  async cancel(name: ReminderName): Promise<void> {
    this.asked.push(["cancel", name]);
  }

  async list(query: ReminderPageQuery): Promise<ReminderPage<ReminderSummary>> {
    this.asked.push(["list", query]);
    return this.#page(this.reminders, query);
  }

  async listDead(query: ReminderPageQuery): Promise<ReminderPage<DeadReminderSummary>> {
    this.asked.push(["listDead", query]);
    return this.#page(this.dead, query);
  }

  async count() {
    return this.counts;
  }

  async retry(name: ReminderName): Promise<boolean> {
    this.asked.push(["retry", name]);
    return this.isHelped;
  }

  async drop(name: ReminderName): Promise<boolean> {
    this.asked.push(["drop", name]);
    return this.isHelped;
  }

  #page<One extends ReminderName>(all: readonly One[], { type, id, after, limit }: ReminderPageQuery) {
    const some = all.filter((one) => (type ?? one.type) === one.type && (id ?? one.id) === one.id);
    const begin = after === undefined ? 0 : 1 + some.findIndex((one) => isSame(one, after));
    const page = some.slice(begin, begin + limit);
    const last = page.at(-1);
    const isMore = begin + limit < some.length && last !== undefined;
    return {
      now: this.now,
      reminders: page,
      next: isMore ? { type: last.type, id: last.id, name: last.name } : undefined,
    };
  }
}

const isSame = (a: ReminderName, b: ReminderName) => a.type === b.type && a.id === b.id && a.name === b.name;

export class FakeHost implements ServerHost {
  readonly reminders = new FakeReminders();
  readonly workflows = new FakeWorkflows();
  readonly admin = adminDispatcher({
    actors: { list: (query) => this.list(query), explain: (type, id) => this.explain(type, id) },
    cluster: {
      view: () => this.cluster(),
      where: (type, id) => this.where(type, id),
      drain: (host) => this.drain(host),
      sticky: (query) => this.sticky(query),
      release: (type, id) => this.release(type, id),
      shards: (type) => this.shards(type),
      shardedTypes: () => this.shardedTypes(),
      steerShards: (type, steering) => this.steerShards(type, steering),
    },
    reminders: this.reminders,
    workflows: this.workflows,
  });
  readonly calls: SeenCall[] = [];
  readonly queries: ListQuery[] = [];
  readonly drained: string[] = [];
  readonly stickyQueries: StickyQuery[] = [];
  readonly released: string[][] = [];
  methods: Methods;
  state: Partial<HostStatus> = {};

  constructor(methods: Methods = {}) {
    this.methods = { echo: ({ args }) => args, first: ({ args }) => args[0], id: ({ id }) => id, ...methods };
  }

  async call(type: string, id: string, method: string, args: readonly unknown[], options: CallOptions = {}) {
    const call = { type, id, method, args, options };
    this.calls.push(call);
    return await this.methods[method]?.(call);
  }

  types() {
    return [{ type: "Cart", active: 2 }];
  }

  async list(query: ListQuery) {
    this.queries.push(query);
    const actor = { type: "Cart", id: "a/b?ü", active: true, waiting: 0, epoch: 1, version: 2, bytes: undefined };
    return { actors: [actor], next: { type: "Cart", id: "nächste" } };
  }

  async explain(type: string, id: string) {
    const nothing = { activeSince: undefined, lastUsed: undefined, stored: undefined };
    return { type, id, summary: "It rests.", phase: "idle" as const, running: [], queued: [], timers: [], ...nothing };
  }

  status(): HostStatus {
    const fixed = { incarnation: "inc-1", version: "0.1.0", namespace: "default", startedAt: 0, store: "memory" };
    return { ...fixed, address: undefined, scheduler: undefined, ready: true, problem: undefined, ...this.state };
  }

  async cluster(): Promise<ClusterView> {
    return CLUSTER;
  }

  async where(type: string, id: string): Promise<Whereabouts> {
    const owner = { owner: "127.0.0.1:7401", ownerName: "alpha", here: true, activeHere: false };
    return { type, id, ...owner, sticky: undefined, why: "the ring says so", version: 4, term: 3, since: 0 };
  }

  async drain(host: string): Promise<void> {
    this.drained.push(host);
  }

  async sticky(query: StickyQuery): Promise<StickyPage> {
    this.stickyQueries.push(query);
    const { type = "Cart", id = "ä b" } = query;
    const actor = { type, id, address: "127.0.0.1:7401", name: "alpha", since: 5, away: false };
    return { actors: [actor], next: query.id === undefined ? { type, id: "nächste" } : undefined };
  }

  async release(type: string, id: string): Promise<void> {
    this.released.push([type, id]);
  }

  readonly steered: [type: string, steering: ShardSteering][] = [];
  shardsView: Omit<ShardsView, "type"> = NO_SHARDS;
  summaries: readonly ShardsSummary[] = [];

  async shards(type: string): Promise<ShardsView> {
    return { ...this.shardsView, type };
  }

  async shardedTypes(): Promise<readonly ShardsSummary[]> {
    return this.summaries;
  }

  async steerShards(type: string, steering: ShardSteering): Promise<void> {
    this.steered.push([type, steering]);
  }
}

const NO_SHARDS: Omit<ShardsView, "type"> = {
  shards: 4,
  strategy: "least",
  paused: false,
  faults: 0,
  hosts: [],
  moving: [],
  moved: [],
  told: [],
};

export async function openTestServer(
  t: TestContext,
  host: ServerHost = new FakeHost(),
  more: { settings?: Partial<HttpServerSettings>; deps?: Partial<HttpServerDeps>; limits?: Partial<HttpLimits> } = {},
) {
  const server = await openHttpServer(
    host,
    { host: "127.0.0.1", port: 0, tokens: [], ...more.settings },
    { meter: silentMeter, renderMetrics: () => "", log: silentLog, ...more.deps },
    { ...HTTP_LIMITS, ...more.limits },
  );
  t.after(() => server.close());
  return { ...server, port: Number(new URL(server.url).port) };
}

export interface Wire {
  readonly socket: Socket;
  send(bytes: string | Buffer): void;
  /** All bytes received until the server closed the connection. */
  readonly closed: Promise<string>;
  /** Resolves with the received bytes as soon as they satisfy the condition. */
  until(condition: (received: string) => boolean): Promise<string>;
}

/** A connection that sends any bytes. */
export function dial(t: TestContext, port: number): Wire {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  t.after(() => socket.destroy());
  let received = "";
  const waiting = new Set<() => void>();
  socket.setEncoding("utf8");
  socket.on("data", (text: string) => {
    received += text;
    for (const look of waiting) look();
  });
  const { promise: closed, resolve } = Promise.withResolvers<string>();
  socket.on("error", () => {});
  socket.on("end", () => socket.end());
  socket.on("close", () => resolve(received));
  const until = (condition: (text: string) => boolean) =>
    new Promise<string>((found, lost) => {
      const look = () => condition(received) && found(received);
      waiting.add(look);
      socket.on("close", () => lost(new TypeError(`closed after ${JSON.stringify(received)}`)));
      look();
    });
  return { socket, send: (bytes) => void socket.write(bytes), closed, until };
}

/** Status and JSON body of each answer in the received bytes. */
export function answers(received: string): { status: number; headers: string; body: unknown }[] {
  const found = [];
  let rest = received;
  while (rest !== "") {
    const cut = rest.indexOf("\r\n\r\n");
    const headers = rest.slice(0, cut);
    const length = Number(/content-length: (\d+)/i.exec(headers)?.[1] ?? 0);
    const bytes = Buffer.from(rest.slice(cut + 4));
    const body = bytes.subarray(0, length).toString();
    found.push({ status: Number(headers.split(" ")[1]), headers, body: body === "" ? undefined : JSON.parse(body) });
    rest = bytes.subarray(length).toString();
  }
  return found;
}

export const errorCode = (body: unknown) => (body as { errorCode?: string } | undefined)?.errorCode;

/** Records counts, as `name label label`. */
export function countingMeter(): { meter: Meter; counts: Map<string, number> } {
  const counts = new Map<string, number>();
  const count = (name: string, labels: Labels = {}) => {
    const key = [name, ...Object.values(labels)].join(" ");
    return (by: number) => void counts.set(key, (counts.get(key) ?? 0) + by);
  };
  const meter: Meter = {
    counter: (name, _help, labels) => ({ add: count(name, labels) }),
    gauge: (name, _help, labels) => ({ set: count(name, labels) }),
    histogram: (name, _help, _buckets, labels) => {
      const add = count(name, labels);
      return { observe: () => add(1) };
    },
  };
  return { meter, counts };
}
