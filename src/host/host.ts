// A host: the catalog of actors, its store and its cluster, as the servers use them (ports/host-admin.ts).
import type { Catalog } from "../actors/catalog.ts";
import { addressed, messageIdOf } from "../actors/message-id.ts";
import { explain } from "../actors/routing/explain.ts";
import type { ActorClass } from "../actors/routing/remote.ts";
import { formatDuration } from "../kernel/durations.ts";
import { isLimpetError, LimpetError } from "../kernel/errors.ts";
import { LIMITS } from "../kernel/limits.ts";
import { checkId, checkMethod, checkType, compareNames } from "../kernel/names.ts";
import type { Clock, Timer } from "../ports/clock.ts";
import type {
  ActorPage,
  ActorSummary,
  CallOptions,
  ClusterView,
  Explanation,
  Host,
  HostStatus,
  ListQuery,
  StickyPage,
  StickyQuery,
  TypeSummary,
  Whereabouts,
} from "../ports/host-admin.ts";
import type { ShardSteering, ShardsHere, ShardsSummary, ShardsView } from "../ports/shard-admin.ts";
import type { Store, StoredActor } from "../ports/store/store.ts";
import type { WorkflowAdmin } from "../ports/workflow-admin.ts";
import { StoredReminders } from "../reminders/admin.ts";
import type { ReminderNode } from "../reminders/node.ts";
import type { Cluster } from "./cluster.ts";
import { FirstFew } from "./first-few.ts";
import { VERSION } from "./version.ts";

/** Interval of health checks of the store. */
const PING_MS = 2_000;

export class HostNode implements Host {
  readonly reminders: StoredReminders;
  readonly workflows: WorkflowAdmin;
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
        catalog.target(type);
        catalog.types.get(type)?.checkReminders();
      },
    });
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
      const said = addressed(type, method, args, own);
      return this.#catalog.send(this.#catalog.target(type), said.id, method, said.args, undefined, options);
    }
    checkId(id);
    return this.#catalog.call(type, id, method, args, options);
  }

  types(): readonly TypeSummary[] {
    return [...this.#catalog.types.values()].map(({ name, activations }) => ({ type: name, active: activations.size }));
  }

  async list(query: ListQuery): Promise<ActorPage> {
    const limit = Math.min(query.limit, LIMITS.listPage);
    const actors = query.active ? this.#listActive(query, limit + 1) : await this.#listStored(query, limit + 1);
    const page = actors.slice(0, limit);
    const last = page.at(-1);
    return { actors: page, next: actors.length > limit && last ? { type: last.type, id: last.id } : undefined };
  }

  async #listStored(query: ListQuery, limit: number): Promise<ActorSummary[]> {
    const { type, prefix, after } = query;
    const rows = await this.#store.list({ namespace: this.#catalog.namespace, type, prefix, after, limit });
    return rows.map((row) => this.#summary(row.type, row.id, row));
  }

  /** Activations in the order of stored actors; stateless actors exist only in memory. */
  #listActive({ type, prefix = "", after }: ListQuery, limit: number): ActorSummary[] {
    const page = new FirstFew(limit, compareNames);
    for (const { name, activations } of this.#catalog.types.values()) {
      if (type !== undefined && name !== type) continue;
      for (const id of activations.keys()) {
        const actor = { type: name, id };
        if (id.startsWith(prefix) && (after === undefined || compareNames(actor, after) > 0)) page.add(actor);
      }
    }
    return page.sorted().map((actor) => this.#summary(actor.type, actor.id, undefined));
  }

  #summary(type: string, id: string, row: StoredActor | undefined): ActorSummary {
    const activation = this.#catalog.types.get(type)?.activations.get(id);
    return {
      type,
      id,
      active: activation !== undefined,
      waiting: activation?.waiting ?? 0,
      epoch: row?.epoch ?? activation?.life?.epoch,
      version: row?.version ?? activation?.life?.version,
      bytes: row?.bytes,
    };
  }

  async explain(type: string, id: string): Promise<Explanation> {
    checkType(type);
    checkId(id);
    const activation = this.#catalog.target(type).activations.get(id);
    const stored = await this.#store.find({ namespace: this.#catalog.namespace, type, id });
    const explanation = explain(type, id, activation, stored, this.#clock.monotonic(), this.#clock.now());
    if (activation !== undefined) return explanation;
    const restartsInMs = this.#restartsInMs(type, id);
    if (restartsInMs !== undefined) {
      const when = restartsInMs > 0 ? `in ${formatDuration(restartsInMs)}` : "when its turn comes";
      const soon = `it is started again ${when}, or by its next call`;
      return { ...explanation, summary: `${type}/${id} is remembered and has stopped; ${soon}` };
    }
    if (this.#cluster === undefined) return explanation;
    const { owner, here } = await this.#cluster.where(type, id);
    if (owner === undefined || here) return explanation;
    return { ...explanation, summary: `${type}/${id} lives on ${owner}, and that host knows what it does` };
  }

  #restartsInMs(type: string, id: string): number | undefined {
    const known = this.#catalog.types.get(type);
    return known && this.#catalog.remembering?.restartsInMs(known, id);
  }

  async cluster(): Promise<ClusterView> {
    if (this.#cluster === undefined) throw alone();
    return this.#cluster.view();
  }

  async where(type: string, id: string): Promise<Whereabouts> {
    checkType(type);
    checkId(id);
    if (this.#cluster === undefined) throw alone();
    return this.#cluster.where(type, id);
  }

  async drain(host: string): Promise<void> {
    if (this.#cluster === undefined) throw alone();
    await this.#cluster.drain(host);
  }

  async sticky(query: StickyQuery): Promise<StickyPage> {
    if (this.#cluster === undefined) throw alone();
    return this.#cluster.sticky(query);
  }

  async release(type: string, id: string): Promise<void> {
    checkType(type);
    checkId(id);
    if (this.#cluster === undefined) throw alone();
    await this.#cluster.release(type, id);
  }

  async shards(type: string): Promise<ShardsView> {
    checkType(type);
    if (this.#cluster === undefined) throw alone();
    return this.#cluster.shards(type);
  }

  async shardedTypes(): Promise<readonly ShardsSummary[]> {
    if (this.#cluster === undefined) throw alone();
    return this.#cluster.shardedTypes();
  }

  async steerShards(type: string, steering: ShardSteering): Promise<void> {
    checkType(type);
    if (this.#cluster === undefined) throw alone();
    await this.#cluster.steerShards(type, steering);
  }

  shardsHere(type: string): ShardsHere {
    if (this.#cluster === undefined) throw alone();
    return this.#cluster.shardsHere(type);
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

const alone = (): LimpetError =>
  new LimpetError(
    "NOT_READY",
    "this process is not in a cluster: its store is in memory, or the setting cluster is false",
  );
