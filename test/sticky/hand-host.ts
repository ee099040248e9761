// A host made by hand: one control stream to a real `limpet scheduler`, on which the test sends any message,
// also ones that a real host would not send. It confirms orders, so that rounds end; it runs no actors.
import assert from "node:assert/strict";
import { clusterSecret } from "../../src/host/open-store.ts";
import type { LimpetError } from "../../src/kernel/errors.ts";
import { LIMITS } from "../../src/kernel/limits.ts";
import type {
  ControlListener,
  ControlStream,
  Hello,
  HostMessage,
  SchedulerMessage,
  StickyAnswer,
} from "../../src/ports/control-messages.ts";
import { silentLog } from "../../src/ports/log.ts";
import { type ControlClient, controlClient } from "../../src/wire/control/client/client.ts";
import { CliProcess } from "../support/cli.ts";
import { freePort } from "../support/free-port.ts";
import type { Place } from "../support/two-stores.ts";
import { until } from "./callers.ts";

/** A dedicated scheduler in its own process, and a connection to it. */
export class HandScheduler implements AsyncDisposable {
  readonly process: CliProcess;
  readonly client: ControlClient;

  /** Leases are so long that hosts made by hand need not renew them. `env`: more of its environment. */
  static async start({ folder, store }: Place, flags: readonly string[] = [], env = {}): Promise<HandScheduler> {
    const port = await freePort();
    const argv = ["scheduler", "--store", store, "--scheduler-port", `${port}`, "--lease", "5m", "--no-http", ...flags];
    const process = new CliProcess(argv, { cwd: folder, env });
    try {
      await process.until("stdout", /is ready/);
      const security = { keys: [], secret: await clusterSecret(store) };
      const client = controlClient({ address: `127.0.0.1:${port}`, security, log: silentLog });
      await until(
        async () => (await client.admin({ kind: "cluster" }).catch(() => undefined)) !== undefined,
        "it leads",
      );
      return new HandScheduler(process, client);
    } catch (error) {
      await process[Symbol.asyncDispose]();
      throw error;
    }
  }

  private constructor(process: CliProcess, client: ControlClient) {
    this.process = process;
    this.client = client;
  }

  /** A host that has joined and has reported that it holds nothing. */
  async host(hello: Partial<Hello> & Pick<Hello, "name">): Promise<HandHost> {
    const host = new HandHost(this.client, hello);
    await host.joined();
    host.send({ kind: "claimed" });
    return host;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
    await this.process[Symbol.asyncDispose]();
  }
}

const RENEW_MS = 200;
let lastPort = 1_000;

export class HandHost implements ControlListener<SchedulerMessage> {
  readonly hello: Hello;
  /** All messages but orders and answers. */
  readonly received: SchedulerMessage[] = [];
  readonly #stream: ControlStream<HostMessage>;
  readonly #answers = new Map<number, StickyAnswer>();
  /** Types with a table that lists it. */
  readonly #tables = new Set<string>();
  #correlation = 0;
  #part = 0;
  #sequence = 0;
  #change = Promise.withResolvers<void>();
  /** The last part that was acknowledged. */
  persisted = 0;
  renewed = 0;
  isOver = false;
  error: LimpetError | undefined;

  /** `hello`: its hello; undefined if it sends none. */
  constructor(client: ControlClient, hello: (Partial<Hello> & Pick<Hello, "name">) | undefined) {
    this.hello = {
      kind: "hello",
      namespace: "default",
      incarnation: `${hello?.name} ${++lastPort}`,
      replaces: undefined,
      // It gets no calls at this address.
      address: `127.0.0.1:${lastPort}`,
      types: ["Cart", "Plain"],
      sticky: new Map([["Cart", 0]]),
      unlocked: new Map(),
      machine: "made by hand",
      pid: lastPort,
      name: "nobody",
      ...hello,
    };
    this.#stream = client.report(this);
    if (hello !== undefined) this.send(this.hello);
  }

  message(message: SchedulerMessage): void {
    switch (message.kind) {
      case "order": {
        const { operation, round, types, tables } = message;
        for (const { type, hosts } of tables) {
          if (hosts.some(({ incarnation }) => incarnation === this.hello.incarnation)) this.#tables.add(type);
        }
        if (round > 0 && operation !== "lock") this.send({ kind: "ack", operation, round, types });
        break;
      }
      case "acquired":
        for (const answer of message.answers) this.#answers.set(answer.correlation, answer);
        break;
      case "acknowledged":
        this.persisted = message.part;
        break;
      case "renewed":
        this.renewed = message.sequence;
        this.#notifyChange();
        break;
      default:
        this.received.push(message);
    }
  }

  closed(error: Error | undefined): void {
    this.isOver = true;
    this.error = error as LimpetError | undefined;
    this.#notifyChange();
  }

  #notifyChange(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }

  send(message: HostMessage): void {
    this.#stream.send(message);
  }

  /** Without a goodbye, as when its process dies. */
  close(): void {
    this.#stream.close();
  }

  /** It is in the tables of all its types. */
  async joined(): Promise<void> {
    await until(() => {
      assert.ok(!this.isOver, `${this.hello.name} was not let in: ${this.error?.message}`);
      return this.hello.types.every((type) => this.#tables.has(type));
    }, `${this.hello.name} is in all tables`);
  }

  async over(): Promise<LimpetError | undefined> {
    await until(() => this.isOver, `the stream of ${this.hello.name} ends`);
    return this.error;
  }

  // ——— Requests.

  /** Requests actors without waiting. Returns a function that reads the answers so far. */
  ask(type: string, ids: readonly string[]): () => (StickyAnswer | undefined)[] {
    const wishes = ids.map((id) => ({ correlation: ++this.#correlation, type, id, since: 0 }));
    for (let i = 0; i < wishes.length; i += LIMITS.stickyChunk) {
      this.send({ kind: "acquire", requests: wishes.slice(i, i + LIMITS.stickyChunk) });
    }
    return () => wishes.map(({ correlation }) => this.#answers.get(correlation));
  }

  async acquire(type: string, ...ids: readonly string[]): Promise<StickyAnswer[]> {
    const answers = this.ask(type, ids);
    await until(() => {
      assert.ok(!this.isOver, `the stream of ${this.hello.name} has ended: ${this.error?.message}`);
      return !answers().includes(undefined);
    }, `${ids.length} answers about ${type}`);
    return answers() as StickyAnswer[];
  }

  /** Outcome of its request: granted, the name of the owner, or a code. */
  async outcome(type: string, id: string): Promise<string> {
    const [answer] = await this.acquire(type, id);
    if (answer!.kind === "granted") return "granted";
    return answer!.kind === "owner" ? answer!.host.name : answer!.code;
  }

  // ——— Claims.

  /** Sends one part. Returns its number. */
  claim(type: string, ids: readonly string[]): number {
    this.send({ kind: "claims", part: ++this.#part, type, ids, since: ids.map(() => 0) });
    return this.#part;
  }

  /** Resolves when all claims so far are acknowledged. */
  async everythingPersisted(): Promise<void> {
    await until(() => this.persisted === this.#part, `${this.hello.name} was heard to the end`);
  }

  /** Ids that it was ordered to release. */
  get toRelease(): string[] {
    return this.received.flatMap((message) => (message.kind === "release" ? message.ids : []));
  }

  /** Renews its lease until the returned object is disposed of. */
  keepRenewing(): Disposable {
    const timer = setInterval(() => this.#renew(), RENEW_MS);
    return { [Symbol.dispose]: () => clearInterval(timer) };
  }

  /** Resolves at the moment in which a renewal of its lease is answered. */
  async renew(): Promise<void> {
    const sequence = this.#renew();
    while (this.renewed < sequence) {
      assert.ok(!this.isOver, `the stream of ${this.hello.name} has ended: ${this.error?.message}`);
      await this.#change.promise;
    }
  }

  #renew(): number {
    this.send({ kind: "renew", sequence: ++this.#sequence, actors: 0 });
    return this.#sequence;
  }
}
