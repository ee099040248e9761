// Executes the orders of the leader: applies new tables, lets go of actors that moved away, and acknowledges.
// placement/model/host-tables.ts decides the meaning of an order.
import type { ActorHost, ActorTypeInfo } from "../../ports/actor-host.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ControlStream, HostMessage, PlacementOrder } from "../../ports/control-messages.ts";
import type { HostTables, TablesEffect } from "../model/host-tables.ts";
import type { StickyClient } from "../sticky/sticky-client.ts";
import type { HostInstruments } from "./metrics.ts";

export interface FollowerSettings {
  /** The address of this host in the tables. */
  readonly address: string;
  readonly moveTimeoutMs: number;
}

export interface OrderFollowerDeps {
  readonly clock: Clock;
  readonly catalog: ActorHost;
  readonly instruments: HostInstruments;
  /** Waiting calls may be routed now. Empty: all types. */
  changed(types: readonly string[]): void;
}

export class OrderFollower {
  readonly #tables: HostTables;
  readonly #sticky: StickyClient;
  readonly #settings: FollowerSettings;
  readonly #deps: OrderFollowerDeps;
  readonly #lockedAt = new Map<string, number>();
  /** Drains in progress, by type: a repeated order of the same round does not start another one. */
  readonly #draining = new Map<string, { readonly round: number; readonly stream: ControlStream<HostMessage> }>();

  constructor(tables: HostTables, sticky: StickyClient, settings: FollowerSettings, deps: OrderFollowerDeps) {
    this.#tables = tables;
    this.#sticky = sticky;
    this.#settings = settings;
    this.#deps = deps;
  }

  clear(): void {
    this.#lockedAt.clear();
    this.#draining.clear();
  }

  /** `isCurrent`: the stream of the order is still the current one. */
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

  /**
   * Acknowledges types without moving actors at once and together, and every other type when its drain is
   * done.
   */
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
      // A new stream gets the order again, with its own acknowledgement.
      if (!isCurrent() || drained.length === 0) return;
      for (const type of drained) this.#letGoUnlessHost(type);
      // Releases of sticky actors go out before the acknowledgement that they are gone.
      this.#sticky.flush();
      for (const effect of this.#tables.drained(round, drained)) if (effect.kind === "ack") stream.send(effect.message);
      for (const type of drained) instruments.acked(type);
    };
    const still: string[] = [];
    for (const name of types) {
      const under = this.#draining.get(name);
      // Its acknowledgement follows the drain in progress.
      if (under?.round === round && under.stream === stream) continue;
      const type = catalog.types.get(name);
      const stays = this.#stayRule(name, type);
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

  /** Sticky actors stay as long as this host hosts their type. */
  #stayRule(name: string, type: ActorTypeInfo | undefined): (id: string) => boolean {
    const { address } = this.#settings;
    const isFree = !this.#tables.isSticky(name) && type?.options.sticky === undefined;
    if (isFree && this.#tables.shards(name) === undefined && type?.options.sharded === undefined) {
      return (id) => this.#tables.owner(name, id) === address;
    }
    const isHost = this.#letGoUnlessHost(name);
    return () => isHost;
  }

  /** Releases the actors that are not in memory, if this host no longer hosts the type. */
  #letGoUnlessHost(type: string): boolean {
    const isHost = this.#tables.hostAt(type, this.#settings.address) !== undefined;
    if (!isHost) this.#sticky.letGoOfAll(type);
    return isHost;
  }
}
