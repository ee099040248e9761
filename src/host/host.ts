// A host: the catalog of actors, its store and its cluster, as the servers use them (ports/host-admin.ts).
import type { Catalog } from "../actors/catalog.ts";
import { addressed, messageIdOf } from "../actors/message-id.ts";
import type { ActorClass } from "../actors/routing/remote.ts";
import { ActorViews } from "../admin/actor-views.ts";
import { adminDispatcher, alone } from "../admin/dispatcher.ts";
import { isLimpetError, LimpetError } from "../kernel/errors.ts";
import { checkId, checkMethod, checkType } from "../kernel/names.ts";
import type { Admin } from "../ports/admin.ts";
import type { Clock, Timer } from "../ports/clock.ts";
import type { CallOptions, Host, HostStatus, TypeSummary } from "../ports/host-admin.ts";
import type { ShardsHere } from "../ports/shard-admin.ts";
import type { Store } from "../ports/store/store.ts";
import type { WorkflowAdmin } from "../ports/workflow-admin.ts";
import { StoredReminders } from "../reminders/admin.ts";
import type { ReminderNode } from "../reminders/node.ts";
import type { Cluster } from "./cluster.ts";
import { VERSION } from "./version.ts";

/** Interval of health checks of the store. */
const PING_MS = 2_000;

export class HostNode implements Host {
  readonly reminders: StoredReminders;
  readonly workflows: WorkflowAdmin;
  readonly admin: Admin["admin"];
  readonly #catalog: Catalog;
  readonly #store: Store;
  readonly #cluster: Cluster | undefined;
  readonly #reminderNode: ReminderNode;
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #pingMs: number;
  #problem: string | undefined;
  #pinging: Timer | undefined;
  #changing: Promise<void> = Promise.resolve();

  constructor(
    catalog: Catalog,
    store: Store,
    cluster: Cluster | undefined,
    reminders: ReminderNode,
    workflows: WorkflowAdmin,
    clock: Clock,
    pingMs = PING_MS,
  ) {
    this.#catalog = catalog;
    this.#store = store;
    this.#cluster = cluster;
    this.#reminderNode = reminders;
    this.workflows = workflows;
    this.reminders = new StoredReminders({
      namespace: catalog.namespace,
      store: store.reminders,
      writer: reminders.writer,
      // In a cluster another host may have the type, now or later.
      checkHosted: (type) => {
        catalog.calls.target(type);
        catalog.types.get(type)?.checkReminders();
      },
    });
    const admin = cluster?.admin;
    const actors = new ActorViews({ catalog, store, clock, cluster: admin });
    this.admin = adminDispatcher({ actors, cluster: admin, reminders: this.reminders, workflows });
    this.#clock = clock;
    this.#pingMs = pingMs;
    this.#startedAt = clock.now();
    this.#pingLater();
  }

  async call(
    type: string,
    id: string | undefined,
    method: string,
    args: readonly unknown[],
    options?: CallOptions,
  ): Promise<unknown> {
    checkType(type);
    checkMethod(method);
    if (id === undefined) {
      const own = messageIdOf(this.#catalog, type);
      const message = addressed(type, method, args, own);
      return this.#catalog.calls.call(type, message.id, method, message.args, options);
    }
    checkId(id);
    return this.#catalog.calls.call(type, id, method, args, options);
  }

  types(): readonly TypeSummary[] {
    return [...this.#catalog.types.values()].map(({ name, activations }) => ({ type: name, active: activations.size }));
  }

  // ——— Requests of operators, for code in this process.

  readonly list: Host["list"] = (query) => this.admin({ kind: "list", query });
  readonly explain: Host["explain"] = (type, id) => this.admin({ kind: "explain", type, id });
  readonly cluster: Host["cluster"] = () => this.admin({ kind: "cluster" });
  readonly where: Host["where"] = (type, id) => this.admin({ kind: "where", type, id });
  readonly drain: Host["drain"] = (host) => this.admin({ kind: "drain", host });
  readonly sticky: Host["sticky"] = (query) => this.admin({ kind: "sticky", query });
  readonly release: Host["release"] = (type, id) => this.admin({ kind: "release", type, id });
  readonly shards: Host["shards"] = (type) => this.admin({ kind: "shards", type });
  readonly shardedTypes: Host["shardedTypes"] = () => this.admin({ kind: "shardedTypes" });
  readonly steerShards: Host["steerShards"] = (type, steering) => this.admin({ kind: "steerShards", type, steering });

  shardsHere(type: string): ShardsHere {
    return (this.#cluster ?? alone()).shardsHere(type);
  }

  shardOf(type: string, id: string): number {
    checkType(type);
    checkId(id);
    const sharded = this.#catalog.types.get(type)?.options.sharded;
    if (sharded === undefined) throw new LimpetError("NOT_SHARDED", `this process hosts no sharded actors of ${type}`);
    return sharded.shardOf(id);
  }

  status(): HostStatus {
    const problem = this.#problem ?? this.#cluster?.problem;
    return {
      incarnation: this.#catalog.incarnation,
      version: VERSION,
      namespace: this.#catalog.namespace,
      startedAt: this.#startedAt,
      store: this.#store.location,
      address: this.#cluster?.address,
      scheduler: this.#cluster?.scheduler,
      ready: problem === undefined,
      problem,
    };
  }

  add(actorClass: ActorClass): Promise<void> {
    return this.#change(async () => {
      this.#catalog.add(actorClass);
      try {
        await this.#cluster?.rehost();
      } catch (error) {
        if (isLimpetError(error, "OPTION_INVALID")) await this.#withdraw(actorClass);
        throw error;
      }
    });
  }

  /** Other hosts declare the type differently. This host keeps its previous types. */
  async #withdraw({ options, name }: ActorClass): Promise<void> {
    this.#catalog.remove(this.#catalog.typeNamed(options?.name ?? name));
    await this.#cluster?.rehost().catch(() => {});
  }

  remove(actorClass: ActorClass): Promise<void> {
    return this.#change(async () => {
      const name = actorClass.options?.name ?? actorClass.name;
      const type = this.#catalog.typeNamed(name);
      await this.#cluster?.rehost(name);
      this.#catalog.remove(type);
      // Without a cluster no other host can take the actors, so they leave memory.
      await this.#catalog.moveAway(type, () => false, this.#catalog.hookTimeoutMs);
    });
  }

  /** One change of the types at a time: each change reports all types to the cluster. */
  #change(change: () => Promise<void>): Promise<void> {
    const changed = this.#changing.then(change);
    this.#changing = changed.catch(() => {});
    return changed;
  }

  #pingLater(): void {
    const ping = async (): Promise<void> => {
      const problem = await this.#store.ping().then(
        () => undefined,
        (error: LimpetError) => `the store does not answer: ${error.message}`,
      );
      if (this.#pinging === undefined) return;
      this.#problem = problem;
      this.#pingLater();
    };
    this.#pinging = this.#clock.after(this.#pingMs, () => void ping(), "background");
  }

  /** Rejects new calls, and reports that the process stops. */
  close(): void {
    this.#problem = "this process is stopping";
    this.#pinging?.cancel();
    this.#pinging = undefined;
    this.#catalog.close();
  }

  /** Hands its actors over to other hosts, lets the rest end, and leaves the cluster. */
  async stop(): Promise<void> {
    this.close();
    try {
      await this.#reminderNode.stop();
    } finally {
      if (this.#cluster === undefined) await this.#catalog.stop();
      else (await this.#cluster.shutDown()).done();
    }
  }
}
