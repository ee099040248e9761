// A host of the small world, as its driver would run it: one stream, a lease, tables, and actors that become
// active wherever the tables and the lease allow it. After every step it checks that no other host holds the
// same actors.

import { sameVersion, showVersion, type TableVersion } from "../../../src/kernel/versions.ts";
import { HostLease } from "../../../src/placement/model/host-lease.ts";
import { HostTables, type TablesEffect } from "../../../src/placement/model/host-tables.ts";
import {
  type HostMessage,
  NOWHERE,
  type PlacementOrder,
  type SchedulerMessage,
} from "../../../src/ports/control-messages.ts";
import { HERE } from "../../../src/ports/placement.ts";
import { Link } from "./link.ts";
import { Sleeper } from "./sleeper.ts";
import { count, IDS, MARGIN_MS, TYPES, type World } from "./world.ts";

export class Host {
  readonly address: string;
  readonly #name: string;
  readonly #world: World;
  readonly process: Sleeper;
  incarnation = "";
  #count = 0;
  #replaces: string | undefined;
  reported: string[] = [];
  tables: HostTables;
  #lease = new HostLease();
  link: Link | undefined;
  #isolatedUntil = 0;
  readonly held = new Map<string, Set<string>>(TYPES.map((type) => [type, new Set()]));
  /** The last update for each type, and the version of the last acknowledged one. */
  readonly #asked = new Map<
    string,
    { readonly round: number; readonly term: number; readonly version: TableVersion }
  >();
  readonly #acked = new Map<string, TableVersion>();

  constructor(world: World, name: string, address = `${name}:1`) {
    this.#world = world;
    this.#name = name;
    this.address = address;
    this.tables = new HostTables(address);
    this.process = new Sleeper(world, () => this.#lookAtLease());
  }

  /** It cannot be called, so it hosts nothing. */
  get #onlyCalls(): boolean {
    return this.address === NOWHERE;
  }

  /** It has slept past the end of its lease by more than the margin: its actors do not count. */
  get overslept(): boolean {
    return this.process.sleepsLong && !this.#lasts;
  }

  get #lasts(): boolean {
    return this.#lease.lasts(this.process.mono, this.process.wall);
  }

  #lookAtLease(): void {
    if (!this.#lease.held || this.#lasts) return;
    count("a lease is over");
    this.#startOver("its lease is over");
  }

  // ——— Lifetime.

  start(): void {
    const { process } = this;
    if (process.alive) return;
    process.start();
    this.tables = new HostTables(this.address);
    this.#lease = new HostLease();
    this.#replaces = undefined;
    this.#newIncarnation();
    this.reported = this.#onlyCalls ? [] : this.#world.some(TYPES);
    process.every(
      () => this.#lease.renewEveryMs / process.pace || 1_000,
      () => this.#renew(),
    );
    process.every(
      () => this.#world.between(20, 300),
      () => this.#use(this.#world.oneOf(TYPES), this.#world.oneOf(IDS)),
    );
    this.#connect();
  }

  #newIncarnation(): void {
    this.incarnation = `${this.#name}${++this.#count}`;
  }

  sleep(ms: number): void {
    if (!this.process.acts) return;
    this.#world.record(this.incarnation, `sleeps for ${ms.toFixed()} ms`);
    this.process.sleep(ms);
    if (ms > this.#lease.endsAt - this.process.mono) count("a host sleeps through the end of its lease");
  }

  die(): void {
    if (!this.process.alive) return;
    this.#world.record(this.incarnation, "dies");
    this.process.end();
    this.#letGoOfAll();
    this.link?.cut();
    this.link = undefined;
    const { incarnation } = this;
    if (this.#world.chance() < 0.7) return;
    this.#world.after(this.#world.between(10, 500), () => this.#world.leader?.dead(incarnation));
  }

  /** Stops in an orderly way. */
  stop(): void {
    if (!this.process.acts) return;
    this.#world.record(this.incarnation, "stops");
    this.#letGoOfAll();
    this.link?.toLeader({ kind: "goodbye" });
    this.link?.closeFrom("host");
    this.link = undefined;
    this.process.end();
  }

  /** It has lost its lease or its membership, and starts again from nothing. */
  #startOver(why: string): void {
    this.#world.record(this.incarnation, `starts over: ${why}`);
    this.#letGoOfAll();
    this.tables.clear();
    this.#lease.lost();
    this.#replaces = this.incarnation;
    this.#newIncarnation();
    this.link?.closeFrom("host");
    this.link = undefined;
    this.#reconnect();
  }

  #letGoOfAll(): void {
    for (const ids of this.held.values()) ids.clear();
    this.#acked.clear();
  }

  // ——— Stream.

  #reconnect(): void {
    const ms = this.#world.chance() < 0.3 ? this.#world.between(5, 800) : this.#world.between(5, 60);
    this.process.after(Math.max(ms, this.#isolatedUntil - this.#world.now), () => this.#connect());
  }

  #connect(): void {
    if (!this.process.alive || this.link !== undefined) return;
    const { leader } = this.#world;
    if (leader === undefined) {
      this.#reconnect();
      return;
    }
    this.link = new Link(this.#world, this, leader);
    const { address, incarnation, reported: types } = this;
    const unlocked = this.tables.unlocked();
    const replaces = this.#replaces;
    this.#world.record(incarnation, `says hello with ${types}`);
    this.link.toLeader({
      kind: "hello",
      namespace: "n",
      incarnation,
      replaces,
      address,
      name: address,
      types,
      unlocked,
      machine: "",
      pid: 1,
    });
  }

  /** Cuts it off from the leader for a while. Sometimes it also misses the end of its lease. */
  isolate(ms: number): void {
    if (this.link === undefined) return;
    this.#world.record(this.incarnation, `is cut off for ${ms.toFixed()} ms`);
    this.#isolatedUntil = this.#world.now + ms;
    this.link.cut();
    const left = this.#lease.endsAt - this.process.mono;
    if (left > 0 && this.#world.chance() < 0.5) {
      this.process.after(left - this.#world.between(0, 100), () => this.sleep(MARGIN_MS));
    }
  }

  /** Reconnects, with or without the news of a newer leader. */
  reconnect(): void {
    if (this.link === undefined || !this.process.acts) return;
    this.link.closeFrom("host");
    this.link = undefined;
    this.#reconnect();
  }

  report(types: string[]): void {
    if (this.#onlyCalls || !this.process.acts) return;
    this.#world.record(this.incarnation, `reports ${types}`);
    this.reported = types;
    this.link?.toLeader({ kind: "types", types });
  }

  closed(link: Link): void {
    if (this.link !== link) return;
    this.link = undefined;
    this.#reconnect();
  }

  #renew(): void {
    this.link?.toLeader({
      kind: "renew",
      sequence: this.#lease.renewing(this.process.mono, this.process.wall),
      actors: 0,
    });
  }

  receive(link: Link, message: SchedulerMessage): void {
    if (this.link !== link) return;
    switch (message.kind) {
      case "welcome":
        if (!this.tables.accept(message.term)) {
          this.reconnect();
          return;
        }
        this.#replaces = undefined;
        this.#lease.length(message.leaseMs);
        this.#renew();
        break;
      case "order":
        this.#order(message);
        break;
      case "renewed":
        this.#lease.renewed(message.sequence);
        this.process.after(
          (this.#lease.endsAt - this.process.mono) / this.process.pace + this.#world.between(0, 50),
          () => {},
        );
        break;
      case "removed":
        count("a host is told to start over");
        this.#startOver(message.reason);
        break;
    }
  }

  #order(order: PlacementOrder): void {
    if (order.term >= this.tables.term && order.round > 0) {
      for (const { type, version } of order.tables) {
        this.#asked.set(type, { round: order.round, term: order.term, version });
      }
      this.#world.record(this.incarnation, `hears ${order.operation} ${order.round} of ${order.types}`);
    }
    this.#perform(this.tables.order(order, 0));
  }

  #perform(effects: readonly TablesEffect[]): void {
    for (const effect of effects) {
      if (effect.kind === "drain") this.#drain(effect.round, effect.types);
      else if (effect.kind === "ack") this.#ack(effect.message);
      else if (effect.kind === "changed") this.#changed(effect.types);
    }
    this.#check();
  }

  /** Every type is released at its own pace. The duration of a turn is arbitrary. */
  #drain(round: number, types: readonly string[]): void {
    const { incarnation } = this;
    for (const type of types) {
      const leaving = [...this.held.get(type)!].filter((id) => this.tables.owner(type, id) !== this.address);
      const slow = !this.#world.calm && this.#world.chance() < 0.05;
      const finish = (): void => {
        if (this.incarnation !== incarnation) return;
        for (const id of leaving) this.held.get(type)!.delete(id);
        // Whether or not it still has the stream of the order.
        this.#perform(this.tables.drained(round, [type]));
      };
      if (leaving.length === 0) {
        finish();
      } else {
        count("actors move");
        this.process.after(this.#world.between(0, slow ? 12_000 : 1_500), finish);
      }
    }
  }

  #ack(message: Extract<HostMessage, { kind: "ack" }>): void {
    if (message.operation === "update") {
      for (const type of message.types) {
        const asked = this.#asked.get(type);
        if (asked?.round === message.round && asked.term === this.tables.term) this.#acked.set(type, asked.version);
      }
    }
    this.link?.toLeader(message);
  }

  // ——— Actors.

  /** Waiting calls are routed again. */
  #changed(types: readonly string[]): void {
    for (const type of types.length === 0 ? TYPES : types) for (const id of this.#world.some(IDS)) this.#use(type, id);
  }

  #use(type: string, id: string): void {
    const ids = this.held.get(type)!;
    if (ids.has(id)) {
      if (this.#world.chance() < 0.2) ids.delete(id);
      return;
    }
    if (!this.#lease.mayBegin(this.process.mono, this.process.wall)) return;
    if (this.tables.route(type, id) !== HERE) {
      this.#askOwnerBefore(type, id);
      return;
    }
    for (const other of this.#world.hosts) {
      if (other !== this && other.held.get(type)!.has(id) && !other.overslept) {
        this.#world.fail(`${type} ${id} comes to life on ${this.incarnation}, and ${other.incarnation} holds it`);
      }
    }
    if (this.tables.view(type).locked) count("an actor that stays comes to life while its type is locked");
    ids.add(id);
  }

  /** A waiting call goes to the previous owner of its actor, and is rejected when the actor has left. */
  #askOwnerBefore(type: string, id: string): void {
    const address = this.tables.ownerBefore(type, id);
    const before = this.#world.hosts.find((host) => host.address === address);
    const { incarnation } = this;
    this.#world.after(this.#world.delay(), () => {
      if (!before?.process.acts || before.held.get(type)!.has(id)) return;
      if (before.tables.owner(type, id) === before.address) return;
      const version = before.tables.version(type);
      this.#world.after(this.#world.delay(), () => {
        if (!this.process.acts || this.incarnation !== incarnation) return;
        if (!this.tables.released(type, id, before.address, version)) return;
        count("an actor comes before UNLOCK, on the word of its owner before");
        this.#use(type, id);
      });
    });
  }

  /** Only orders and their consequences can make this wrong. */
  #check(): void {
    for (const [type, version] of this.#acked) {
      if (!sameVersion(version, this.tables.version(type))) continue;
      for (const id of this.held.get(type)!) {
        if (this.tables.owner(type, id) === this.address) continue;
        this.#world.fail(`${this.incarnation} holds ${type} ${id} after it acknowledged ${showVersion(version)}`);
      }
    }
  }
}
