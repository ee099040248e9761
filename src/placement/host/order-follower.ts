// Does what the leader orders: takes new tables over, lets go of actors that moved away, and confirms. What an order means is
// decided in placement/model/host-tables.ts.
import type { ActorType } from "../../actors/actor-type.ts";
import type { Catalog } from "../../actors/catalog.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ControlStream } from "../../ports/control.ts";
import type { HostMessage, PlacementOrder } from "../../ports/control-messages.ts";
import type { HostTables, TablesEffect } from "../model/host-tables.ts";
import type { StickyMember } from "../sticky/sticky-client.ts";
import type { HostInstruments } from "./metrics.ts";

export interface FollowerSettings {
  /** This host, as the tables name it. */
  readonly address: string;
  readonly moveTimeoutMs: number;
}

export interface OrderFollowerDeps {
  readonly clock: Clock;
  readonly catalog: Catalog;
  readonly instruments: HostInstruments;
  /** What waits to be routed may find its way now. Empty: all types. */
  changed(types: readonly string[]): void;
}

export class OrderFollower {
  readonly #tables: HostTables;
  readonly #sticky: StickyMember;
  readonly #settings: FollowerSettings;
  readonly #deps: OrderFollowerDeps;
  readonly #lockedAt = new Map<string, number>();
  /** Drains in progress, by type: a repeated order of the same round does not start another one. */
  readonly #draining = new Map<string, { readonly round: number; readonly stream: ControlStream<HostMessage> }>();

  constructor(tables: HostTables, sticky: StickyMember, settings: FollowerSettings, deps: OrderFollowerDeps) {
    this.#tables = tables;
    this.#sticky = sticky;
    this.#settings = settings;
    this.#deps = deps;
  }

  clear(): void {
    this.#lockedAt.clear();
    this.#draining.clear();
  }

  /** `isCurrent`: the stream on which the order came is still the one there is. */
  follow(order: PlacementOrder, stream: ControlStream<HostMessage>, isCurrent: () => boolean): void {
    const { clock, instruments, changed } = this.#deps;
    const before = clock.monotonic();
    const effects = this.#tables.order(order, clock.now());
    const took = (clock.monotonic() - before) / 1_000;
    for (const effect of effects) {
      if (effect.kind === "applied") this.#count(effect, before, took / Math.max(order.tables.length, 1));
      else if (effect.kind === "ack") stream.send(effect.message);
      else if (effect.kind === "changed") changed(effect.types);
      else this.#drain(effect, order, stream, isCurrent);
    }
    for (const { type, version } of order.tables) instruments.version(type, version.number);
  }

  #count({ operation, type }: Extract<TablesEffect, { kind: "applied" }>, now: number, seconds: number): void {
    const { instruments } = this.#deps;
    instruments.ordered(type, operation);
    if (operation === "lock") this.#lockedAt.set(type, now);
    if (operation === "update") instruments.applied(type, seconds);
    if (operation === "unlock") instruments.unlocked(type, (now - (this.#lockedAt.get(type) ?? now)) / 1_000);
  }

  /** Types of which nothing moves are confirmed at once and together, the others each when they are done. */
  #drain(
    { round, types }: Extract<TablesEffect, { kind: "drain" }>,
    order: PlacementOrder,
    stream: ControlStream<HostMessage>,
    isCurrent: () => boolean,
  ): void {
    const { catalog, instruments } = this.#deps;
    const reasons = new Map(order.tables.map(({ type, reason }) => [type, reason]));
    const { moveTimeoutMs } = this.#settings;
    const done = (drained: readonly string[]): void => {
      // A new stream gets the order again, and confirms it itself.
      if (!isCurrent() || drained.length === 0) return;
      for (const type of drained) this.#letGoUnlessHost(type);
      // What is said to be gone has been let go of before.
      this.#sticky.flush();
      for (const effect of this.#tables.drained(round, drained)) if (effect.kind === "ack") stream.send(effect.message);
      for (const type of drained) instruments.acked(type);
    };
    const still: string[] = [];
    for (const name of types) {
      const under = this.#draining.get(name);
      // Its acknowledgement is on its way.
      if (under?.round === round && under.stream === stream) continue;
      const type = catalog.types.get(name);
      const stays = this.#whoStays(name, type);
      if (type === undefined || ![...type.activations.keys()].some((id) => !stays(id))) {
        still.push(name);
        continue;
      }
      const drain = { round, stream };
      this.#draining.set(name, drain);
      void catalog.moveAway(type, stays, moveTimeoutMs).then((actors) => {
        if (this.#draining.get(name) === drain) this.#draining.delete(name);
        instruments.halted(name, actors, reasons.get(name));
        done([name]);
      });
    }
    done(still);
  }

  /** Sticky actors stay for as long as this host has any of their type. */
  #whoStays(name: string, type: ActorType | undefined): (id: string) => boolean {
    const { address } = this.#settings;
    const isFree = !this.#tables.isSticky(name) && type?.options.sticky === undefined;
    if (isFree && this.#tables.shards(name) === undefined && type?.options.sharded === undefined) {
      return (id) => this.#tables.owner(name, id) === address;
    }
    const isHost = this.#letGoUnlessHost(name);
    return () => isHost;
  }

  /** Of a type that this host has no more nothing is held that is not in memory. */
  #letGoUnlessHost(type: string): boolean {
    const isHost = this.#tables.hostAt(type, this.#settings.address) !== undefined;
    if (!isHost) this.#sticky.letGoOfAll(type);
    return isHost;
  }
}
