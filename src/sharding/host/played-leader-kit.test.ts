// One host with remembered actors, a leader that a test plays, and a store under the control of the test.
import assert from "node:assert/strict";
import { Actor } from "../../actors/actor.ts";
import { Catalog } from "../../actors/catalog.ts";
import { sharded } from "../../actors/options/sharded-options.ts";
import { ClusterRouting } from "../../actors/routing/cluster-routing.ts";
import type { ActorClass } from "../../actors/routing/remote.ts";
import { type HostPlacement, knownShards, openHostPlacement } from "../../host/host-placement.ts";
import { LimpetError } from "../../kernel/errors.ts";
import { shardOf } from "../../kernel/shards.ts";
import type { LeaderSource } from "../../placement/discovery/leader-source.ts";
import { HostInstruments } from "../../placement/host/metrics.ts";
import type { ControlListener, HostMessage, SchedulerMessage, TableHost } from "../../ports/control-messages.ts";
import type { Links } from "../../ports/links.ts";
import { silentLog } from "../../ports/log.ts";
import { silentMeter } from "../../ports/meter.ts";
import type { Random } from "../../ports/random.ts";
import type { Store } from "../../ports/store/store.ts";
import { MemoryStore } from "../../stores/memory/memory-store.ts";
import { VirtualClock } from "../../world/virtual-clock.ts";
import { RememberedActors } from "../remembered/manager.ts";

const SHARDS = 4;
export const LEASE_MS = 10_000;
export const RESTART_MS = 10_000;
const ADDRESS = "10.0.0.1:1";
export const OTHER: TableHost = { address: "10.0.0.2:1", incarnation: "other", name: "other" };

export class Guard extends Actor {
  static options = { placement: sharded({ shards: SHARDS, remember: true, restartAfter: RESTART_MS }) };
  ping() {}
  leave() {
    this.deactivate();
  }
}

export const [ID, ANOTHER] = Array.from({ length: 100 }, (_, i) => `id-${i}`).filter((id) => shardOf(id, SHARDS) === 0);
export const SHARD = 0;

export class Setting {
  readonly clock = new VirtualClock();
  readonly store = new MemoryStore(() => this.clock.now());
  readonly catalog: Catalog;
  readonly placement: HostPlacement;
  readonly remembered: RememberedActors;
  readonly reads: number[] = [];
  /** Runs before the store answers with actors, or with shards. */
  onRead = async (): Promise<void> => {};
  onLook = async (): Promise<void> => {};
  /** The leader answers renewals. */
  isRenewing = true;
  readonly sent: HostMessage[] = [];
  #listener: ControlListener<SchedulerMessage> | undefined;
  #round = 0;
  #ids = 0;

  constructor(classes: readonly ActorClass[] = [Guard]) {
    const { clock, store } = this;
    const random: Random = { number: () => 0.5, id: () => `incarnation-${++this.#ids}` };
    this.#instrument(store);
    const world = { clock, random, log: silentLog, meter: silentMeter, store, shards: store.shards };
    const settings = { namespace: "n", idleTimeoutMs: 60_000, callTimeoutMs: 30_000, mailboxLimit: 10 };
    const limits = { maxResident: 1_000, drainTimeoutMs: 1_000, storeTimeoutMs: 1_000 };
    this.catalog = new Catalog(classes, { ...settings, ...limits }, world);
    this.placement = openHostPlacement(
      { namespace: "n", address: ADDRESS, name: "me", moveTimeoutMs: 1_000 },
      {
        ...world,
        catalog: this.catalog,
        source: this.#source(),
        identity: { machine: "m", pid: 7 },
        instruments: new HostInstruments(silentMeter, "n"),
        changed: (types) => {
          router.changed(types);
          if (types.length > 0 || this.placement.resolver.hasLease) this.remembered.changed();
        },
        opened: (type, shards) => router.opened(type, shards),
        answered() {},
        gained: (type, shard) => this.remembered.gained(type, shard),
      },
    );
    const known = knownShards(this.placement);
    this.remembered = new RememberedActors(1_000, { ...world, catalog: this.catalog, known });
    this.catalog.connect({ remembering: this.remembered });
    const links = { call: () => assert.fail("nobody is called") } as unknown as Links;
    const router = new ClusterRouting(this.catalog, { placement: this.placement.resolver, links, clock });
    this.catalog.join(router);
    this.remembered.start();
    this.placement.membership.start();
  }

  #instrument({ shards }: Store): void {
    const { remembered, rememberedShards } = shards;
    shards.remembered = async (...args) => {
      this.reads.push(args[0].shard);
      const page = await remembered.apply(shards, args);
      await this.onRead();
      return page;
    };
    shards.rememberedShards = async (...args) => {
      await this.onLook();
      return rememberedShards.apply(shards, args);
    };
  }

  #source(): LeaderSource {
    const send = (message: HostMessage): void => {
      this.sent.push(message);
      if (message.kind === "renew" && this.isRenewing) this.renewed(message.sequence);
    };
    const report = (listener: ControlListener<SchedulerMessage>) => {
      this.#listener = listener;
      return { send, close() {} };
    };
    return { onChange: undefined, recheck() {}, leader: { address: "leader:1", term: 1, report } } as never;
  }

  // ——— Messages of the leader.

  send(message: SchedulerMessage): void {
    this.#listener!.message(message);
  }

  renewed(sequence: number): void {
    this.clock.soon(() => this.send({ kind: "renewed", sequence }));
  }

  welcome(term = 1): void {
    this.send({ kind: "welcome", term, leaseMs: LEASE_MS });
  }

  get me(): TableHost {
    return { address: ADDRESS, incarnation: this.placement.membership.incarnation, name: "me" };
  }

  /** The stream breaks; the host opens another one. */
  async cut(): Promise<void> {
    this.#listener!.closed(new LimpetError("UNREACHABLE", "cut"));
    await this.clock.advance(100);
  }

  table(...hosts: TableHost[]): void {
    const table = {
      type: "Guard",
      version: { term: 1, number: ++this.#round },
      base: undefined,
      hosts,
      shards: SHARDS,
    };
    const order = { kind: "order", namespace: "n", term: 1, round: this.#round, types: ["Guard"] } as const;
    for (const operation of ["lock", "update", "unlock"] as const)
      this.send({ ...order, operation, tables: operation === "update" ? [table] : [], replicationFactor: 1 });
  }

  async lives(host: TableHost, shard = SHARD): Promise<void> {
    const home = { namespace: "n", type: "Guard", shard, incarnation: host.incarnation };
    assert.ok(await this.store.shards.noteHomes(this.store.coordination.term, [home]));
    this.send({ kind: "shardHomes", type: "Guard", homes: [{ shard, host }] });
  }

  /** The shard is handed over to another host. */
  async movesAway(move: number): Promise<void> {
    this.send({ kind: "beginHandOff", type: "Guard", shard: SHARD, move });
    this.send({ kind: "handOff", type: "Guard", shard: SHARD, move, to: OTHER });
    await this.clock.settled();
    assert.ok(this.sent.some((message) => message.kind === "shardStopped" && message.move === move));
    await this.lives(OTHER);
  }

  // ——— Remembered and running actors.

  async remember(id: string | undefined, isKept = true): Promise<void> {
    await this.store.shards.remember(undefined, [{ namespace: "n", type: "Guard", shard: SHARD, id: id!, isKept }]);
  }

  get running(): string[] {
    const { activations } = this.catalog.types.get("Guard")!;
    return [...activations.values()].filter(({ phase }) => phase === "active").map(({ id }) => id);
  }

  async call(id: string | undefined, method: "ping" | "leave"): Promise<void> {
    await (this.catalog.calls.handle(Guard, id!) as Guard)[method]();
  }
}

export const neverAnswers = async (): Promise<never> => {
  throw new LimpetError("STORE_UNAVAILABLE", "down");
};

/** A member, home of nothing. */
export async function joined(classes?: readonly ActorClass[]): Promise<Setting> {
  const it = new Setting(classes);
  it.welcome();
  it.table(it.me, OTHER);
  await it.clock.advance(1_000);
  return it;
}

/** Home of the shard, with a running actor in it. */
export async function atHome(): Promise<Setting> {
  const it = await joined();
  await it.remember(ID);
  await it.lives(it.me);
  await it.clock.advance(1_000);
  assert.deepEqual(it.running, [ID]);
  return it;
}
