// Every way in which a host becomes the home of a shard, or is it still: whoever is remembered in it runs, and nobody else. With a leader that a
// test plays, and a store that does as it is told.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Actor } from "../actors/actor.ts";
import { Catalog } from "../actors/catalog.ts";
import type { ActorClass } from "../actors/remote.ts";
import { Router } from "../actors/router.ts";
import { sharded } from "../actors/sharded-options.ts";
import { LimpetError } from "../kernel/errors.ts";
import { shardOf } from "../kernel/shards.ts";
import type { HostMessage, SchedulerMessage, TableHost } from "../placement/messages.ts";
import type { ControlListener } from "../ports/control.ts";
import type { Links } from "../ports/links.ts";
import { silentLog } from "../ports/log.ts";
import { silentMeter } from "../ports/meter.ts";
import type { Random } from "../ports/random.ts";
import type { Store } from "../ports/store.ts";
import { MemoryStore } from "../stores/memory/memory-store.ts";
import { VirtualClock } from "../world/virtual-clock.ts";
import { HostInstruments } from "./host-instruments.ts";
import type { LeaderSource } from "./leader-source.ts";
import { Membership } from "./membership.ts";
import { openTogether, type RememberedActors } from "./shard-remembered.ts";

const SHARDS = 4;
const LEASE_MS = 10_000;
const RESTART_MS = 10_000;
const ADDRESS = "10.0.0.1:1";
const OTHER: TableHost = { address: "10.0.0.2:1", incarnation: "other", name: "other" };

class Guard extends Actor {
  static options = { placement: sharded({ shards: SHARDS, remember: true, restartAfter: RESTART_MS }) };
  ping() {}
  leave() {
    this.deactivate();
  }
}

const [ID, ANOTHER] = Array.from({ length: 100 }, (_, i) => `id-${i}`).filter((id) => shardOf(id, SHARDS) === 0);
const SHARD = 0;

class Setting {
  readonly clock = new VirtualClock();
  readonly store = new MemoryStore(() => this.clock.now());
  readonly catalog: Catalog;
  readonly membership: Membership;
  readonly remembered: RememberedActors;
  readonly reads: number[] = [];
  /** What happens before the store answers which actors, or which shards. */
  onRead = async (): Promise<void> => {};
  onLook = async (): Promise<void> => {};
  /** The leader answers renewals. */
  isRenewing = true;
  readonly said: HostMessage[] = [];
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
    this.membership = new Membership(
      { namespace: "n", address: ADDRESS, name: "me", moveTimeoutMs: 1_000 },
      {
        ...{ ...world, catalog: this.catalog, source: this.#source() },
        identity: { machine: "m", pid: 7 },
        instruments: new HostInstruments(silentMeter, "n"),
        changed: (types) => {
          router.changed(types);
          if (types.length > 0 || this.membership.hasLease) this.remembered.changed();
        },
        opened: (type, shards) => router.opened(type, shards),
        answered() {},
        gained: (type, shard) => this.remembered.gained(type, shard),
      },
    );
    this.remembered = openTogether(1_000, { ...world, catalog: this.catalog }, this.membership);
    this.catalog.remembering = this.remembered;
    const links = { call: () => assert.fail("nobody is called") } as unknown as Links;
    const router = new Router(this.catalog, { placement: this.membership, links, clock });
    this.catalog.join(router);
    this.remembered.start();
    this.membership.start();
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
      this.said.push(message);
      if (message.kind === "renew" && this.isRenewing) this.renewed(message.sequence);
    };
    const report = (listener: ControlListener<SchedulerMessage>) => {
      this.#listener = listener;
      return { send, close() {} };
    };
    return { onChange: undefined, doubt() {}, leader: { address: "leader:1", term: 1, report } } as never;
  }

  // ——— What the leader says.

  say(message: SchedulerMessage): void {
    this.#listener!.message(message);
  }

  renewed(sequence: number): void {
    this.clock.soon(() => this.say({ kind: "renewed", sequence }));
  }

  welcome(term = 1): void {
    this.say({ kind: "welcome", term, leaseMs: LEASE_MS });
  }

  get me(): TableHost {
    return { address: ADDRESS, incarnation: this.membership.incarnation, name: "me" };
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
      this.say({ ...order, operation, tables: operation === "update" ? [table] : [], replicationFactor: 1 });
  }

  async lives(host: TableHost, shard = SHARD): Promise<void> {
    const home = { namespace: "n", type: "Guard", shard, incarnation: host.incarnation };
    assert.ok(await this.store.shards.noteHomes(this.store.coordination.term, [home]));
    this.say({ kind: "shardHomes", type: "Guard", homes: [{ shard, host }] });
  }

  /** The shard is handed over to another host. */
  async movesAway(move: number): Promise<void> {
    this.say({ kind: "shardGather", type: "Guard", shard: SHARD, move });
    this.say({ kind: "shardStop", type: "Guard", shard: SHARD, move, to: OTHER });
    await this.clock.settled();
    assert.ok(this.said.some((message) => message.kind === "shardStopped" && message.move === move));
    await this.lives(OTHER);
  }

  // ——— Who is remembered, and who runs.

  async remember(id: string | undefined, isKept = true): Promise<void> {
    await this.store.shards.remember(undefined, [{ namespace: "n", type: "Guard", shard: SHARD, id: id!, isKept }]);
  }

  get running(): string[] {
    const { activations } = this.catalog.types.get("Guard")!;
    return [...activations.values()].filter(({ phase }) => phase === "active").map(({ id }) => id);
  }

  async call(id: string | undefined, method: "ping" | "leave"): Promise<void> {
    await (this.catalog.handle(Guard, id!) as Guard)[method]();
  }
}

const neverSays = async (): Promise<never> => {
  throw new LimpetError("STORE_UNAVAILABLE", "down");
};

/** A member, home of nothing. */
async function joined(classes?: readonly ActorClass[]): Promise<Setting> {
  const it = new Setting(classes);
  it.welcome();
  it.table(it.me, OTHER);
  await it.clock.advance(1_000);
  return it;
}

/** Home of the shard, with somebody in it who runs. */
async function atHome(): Promise<Setting> {
  const it = await joined();
  await it.remember(ID);
  await it.lives(it.me);
  await it.clock.advance(1_000);
  assert.deepEqual(it.running, [ID]);
  return it;
}

describe("a host that becomes the home of a shard", () => {
  it("brings remembered actors to life, once, also when it is told twice", async () => {
    const it = await atHome();
    assert.deepEqual(it.reads, [SHARD]);
    await it.lives(it.me);
    await it.clock.advance("5m");
    assert.deepEqual(it.running, [ID]);
    assert.deepEqual(it.reads, [SHARD], "what has been gone through is not read again and again");
  });

  it("before it has its lease does so as soon as it has one", async () => {
    const it = new Setting();
    it.onLook = neverSays;
    await it.remember(ID);
    it.isRenewing = false;
    it.welcome();
    it.table(it.me, OTHER);
    await it.lives(it.me);
    await it.clock.advance(1_000);
    assert.deepEqual(it.running, [], "nobody comes to life without a lease");
    it.isRenewing = true;
    await it.clock.advance(LEASE_MS);
    assert.deepEqual(it.running, [ID]);
  });

  it("in its next life, before it has its lease again, does so as soon as it has one", async () => {
    const it = await atHome();
    it.onLook = neverSays;
    it.isRenewing = false;
    await it.clock.advance(LEASE_MS);
    assert.deepEqual(it.running, [], "the lease is over");
    it.welcome();
    it.table(it.me, OTHER);
    await it.lives(it.me);
    await it.clock.advance(1_000);
    assert.deepEqual(it.running, []);
    it.isRenewing = true;
    await it.clock.advance(LEASE_MS);
    assert.deepEqual(it.running, [ID]);
  });

  it("goes on under the next leader, without beginning anew", async () => {
    const it = await atHome();
    await it.cut();
    it.welcome(2);
    await it.lives(it.me);
    await it.clock.advance(1_000);
    assert.deepEqual(it.running, [ID]);
    assert.deepEqual(it.reads, [SHARD]);
  });

  it("does so under the next leader when it had not been told by the one before", async () => {
    const it = await joined();
    await it.remember(ID);
    await it.cut();
    it.welcome(2);
    await it.lives(it.me);
    await it.clock.advance(1_000);
    assert.deepEqual(it.running, [ID]);
  });

  it("asks who is home of a shard that has remembered actors, and of which nobody told it", async () => {
    const it = await joined();
    await it.remember(ID);
    await it.clock.advance("35s");
    assert.ok(it.said.some((message) => message.kind === "shardAsk" && message.shards.includes(SHARD)));
    await it.lives(it.me);
    await it.clock.advance(1_000);
    assert.deepEqual(it.running, [ID]);
  });

  it("asks as soon as it has a lease, if it had none when it looked", async () => {
    const it = new Setting();
    await it.remember(ID);
    it.isRenewing = false;
    it.welcome();
    it.table(it.me, OTHER);
    await it.clock.advance(1_000);
    const asked = () => it.said.some((message) => message.kind === "shardAsk" && message.shards.includes(SHARD));
    assert.equal(asked(), false);
    it.isRenewing = true;
    await it.clock.advance(LEASE_MS / 2);
    assert.equal(asked(), true);
  });

  it("and does not have the class yet brings them to life when it has", async () => {
    const it = await joined([]);
    await it.remember(ID);
    await it.lives(it.me);
    await it.clock.advance(1_000);
    it.catalog.add(Guard);
    await it.clock.advance(1_000);
    assert.deepEqual(it.running, [ID]);
  });

  it("brings them to life when the class was given up and taken up again", async () => {
    const it = await atHome();
    const type = it.catalog.types.get("Guard")!;
    it.catalog.remove(type);
    await it.catalog.moveAway(type, () => false, 1_000);
    it.catalog.add(Guard);
    await it.clock.advance(1_000);
    assert.deepEqual(it.running, [ID]);
  });

  it("tries again when the store cannot say who they are", async () => {
    const it = await joined();
    await it.remember(ID);
    it.onRead = neverSays;
    await it.lives(it.me);
    await it.clock.advance("1m");
    assert.deepEqual(it.running, []);
    it.onRead = async () => {};
    await it.clock.advance(1_000);
    assert.deepEqual(it.running, [ID]);
  });

  it("tries again soon when the store cannot say which shards have any", async () => {
    const it = new Setting();
    await it.remember(ID);
    it.onLook = neverSays;
    it.welcome();
    it.table(it.me, OTHER);
    await it.clock.advance("1m");
    it.onLook = async () => {};
    await it.clock.advance("3s");
    assert.ok(it.said.some((message) => message.kind === "shardAsk" && message.shards.includes(SHARD)));
  });

  it("looks once more when hosts have changed while it looked", async () => {
    const it = await joined();
    const gate = Promise.withResolvers<void>();
    let looks = 0;
    it.onLook = async () => {
      looks++;
      await gate.promise;
    };
    it.table(it.me);
    await it.clock.advance(1_000);
    assert.equal(looks, 1);
    it.table(it.me, OTHER);
    await it.clock.advance(1_000);
    assert.equal(looks, 1, "one look at a time");
    gate.resolve();
    await it.clock.advance(1_000);
    assert.equal(looks, 2);
  });
});

describe("a shard that was elsewhere meanwhile", () => {
  it("is gone through again, and what the store said before does not count", async () => {
    const it = await joined();
    for (const id of [ID, ANOTHER]) await it.remember(id);
    const gate = Promise.withResolvers<void>();
    it.onRead = () => gate.promise;
    await it.lives(it.me);
    await it.clock.advance(1_000);
    await it.movesAway(1);
    await it.remember(ANOTHER, false);
    it.onRead = async () => {};
    await it.lives(it.me);
    await it.clock.advance(1_000);
    assert.deepEqual(it.running, [ID]);
    // The answer to what was asked before the shard moved comes now.
    gate.resolve();
    await it.clock.advance("1m");
    assert.deepEqual(it.running, [ID], "it was forgotten where the shard lived meanwhile");
  });

  it("is gone through again when the store says nothing but that it was asked in a life before", async () => {
    const it = await joined();
    await it.remember(ID);
    const gate = Promise.withResolvers<void>();
    it.onRead = () => gate.promise;
    await it.lives(it.me);
    await it.clock.advance(1_000);
    it.isRenewing = false;
    await it.clock.advance(LEASE_MS);
    it.isRenewing = true;
    it.onRead = async () => {};
    it.welcome();
    it.table(it.me, OTHER);
    await it.lives(it.me);
    gate.reject(new LimpetError("STORE_UNAVAILABLE", "too late"));
    await it.clock.advance(1_000);
    assert.deepEqual(it.running, [ID]);
  });

  it("has nobody started again who stopped here before, and was forgotten there", async () => {
    const it = await atHome();
    await it.remember(ANOTHER);
    await it.call(ANOTHER, "leave");
    await it.clock.settled();
    await it.movesAway(1);
    await it.remember(ANOTHER, false);
    await it.lives(it.me);
    await it.clock.advance(RESTART_MS * 3);
    assert.deepEqual(it.running, [ID]);
  });

  it("has those started who stopped here before, and are remembered", async () => {
    const it = await atHome();
    await it.call(ID, "leave");
    await it.clock.settled();
    assert.deepEqual(it.running, []);
    await it.movesAway(1);
    await it.lives(it.me);
    await it.clock.advance(1_000);
    assert.deepEqual(it.running, [ID]);
  });
});

describe("a host that stays the home of a shard", () => {
  it("brings back whom it had let go as if it hosted the class no more", async () => {
    const it = await atHome();
    it.table(OTHER);
    await it.clock.advance(100);
    assert.deepEqual(it.running, []);
    it.table(it.me, OTHER);
    await it.clock.advance("35s");
    assert.deepEqual(it.running, [ID]);
  });

  it("goes on with those that stopped when the move is called off", async () => {
    const it = await atHome();
    await it.call(ID, "leave");
    it.say({ kind: "shardGather", type: "Guard", shard: SHARD, move: 1 });
    await it.clock.advance(RESTART_MS + 1_000);
    assert.deepEqual(it.running, []);
    await it.lives(it.me);
    await it.clock.advance(RESTART_MS + 1_000);
    assert.deepEqual(it.running, [ID]);
  });
});
