// Drives the sharded types of one namespace on the leader: feeds sharding/model/type-shards.ts the messages
// and changes of hosts, sends its decisions, persists homes, and asks strategies. Requests of operators are
// in operations/shard-operations.ts.
import type { ShardedRule } from "../../kernel/sharded-rule.ts";
import type { Clock } from "../../ports/clock.ts";
import type { LeaderHost, LeaderNamespace, NamespaceFeature } from "../../ports/cluster/leader-feature.ts";
import type { ShardReport, TableHost } from "../../ports/control-messages.ts";
import type { Log } from "../../ports/log.ts";
import type { ShardHomeChange, ShardHomeRow } from "../../ports/store/shards.ts";
import type { ShardEffect, ShardHost } from "../model/shard-effects.ts";
import { type PersistedShards, readPersisted } from "../model/steering-rows.ts";
import { compareBuilds } from "../model/strategy.ts";
import { StrategyRequests } from "../model/strategy-requests.ts";
import { TypeShards } from "../model/type-shards.ts";
import { EffectPerformer } from "./effect-performer.ts";
import type { ShardInstruments } from "./metrics.ts";
import { ShardStats } from "./shard-stats.ts";
import { type ShardedType, strategyOf } from "./sharded-type.ts";
import { StrategyClient } from "./strategy-client.ts";

export interface CoordinatorDriverDeps extends Omit<LeaderNamespace, "feed"> {
  readonly clock: Clock;
  readonly log: Log;
  readonly instruments: ShardInstruments;
  /** Persists a home; calls back when it is durable. */
  persist(change: ShardHomeChange, written: () => void): void;
}

/** Time limit for an answer of the strategy. */
const CHOOSE_MS = 5_000;

export class CoordinatorDriver implements NamespaceFeature {
  readonly #deps: CoordinatorDriverDeps;
  readonly #types = new Map<string, ShardedType>();
  /** Rows recorded by the previous leader, of types that no host has reported yet. */
  readonly #persisted: Map<string, PersistedShards>;
  readonly stats = new ShardStats();
  readonly #strategies: StrategyClient;
  readonly #performer: EffectPerformer;

  constructor(deps: CoordinatorDriverDeps, homes: readonly ShardHomeRow[]) {
    this.#deps = deps;
    this.#persisted = readPersisted(homes);
    this.#strategies = new StrategyClient(deps);
    this.#performer = new EffectPerformer(deps, this.#types, this.#strategies);
  }

  get types(): ReadonlyMap<string, ShardedType> {
    return this.#types;
  }

  get deadline(): number {
    let first = this.stats.deadline;
    for (const { shards, requests } of this.#types.values())
      first = Math.min(first, shards.deadline, requests.deadline);
    return first;
  }

  // ——— Hosts.

  isHome(incarnation: string, type: string): boolean {
    const known = this.#types.get(type);
    if (known !== undefined) return known.shards.isHome(incarnation);
    return [...(this.#persisted.get(type)?.homes ?? [])].some(([, host]) => host === incarnation);
  }

  /** Hosts that have let go of a shard since the last call. */
  takeRelieved(): readonly string[] {
    return this.#performer.takeRelieved();
  }

  /** Hosts or tables have changed. */
  look(now: number): void {
    this.#performer.learnAddresses();
    for (const [type, rule] of this.#rules()) this.#setRule(type, rule, now);
    for (const [type, known] of this.#types) {
      const hosts = (this.#deps.table(type)?.hosts ?? [])
        .filter(({ incarnation }) => !known.leaving.has(incarnation) && this.#deps.host(incarnation) !== undefined)
        .map((host) => this.#shardHost(host));
      this.perform(type, known.shards.setRegions(hosts, now, this.#leavers(type, known.leaving)), now);
    }
  }

  /**
   * Hosts that leave, and hosts without the type: one of them may have given it up under the previous leader,
   * with shards to hand over.
   */
  #leavers(type: string, leaving: Iterable<string>): Set<string> {
    const leavers = new Set(leaving);
    for (const { incarnation, types } of this.#deps.hosts()) if (!types.has(type)) leavers.add(incarnation);
    return leavers;
  }

  /** The rules that hosts of the newest build report, because the others are about to be replaced. */
  #rules(): Map<string, ShardedRule> {
    const found = new Map<string, { readonly rule: ShardedRule; readonly build: string }>();
    for (const { sharded, build } of this.#deps.hosts()) {
      for (const [type, rule] of sharded) {
        const known = found.get(type);
        if (known === undefined || compareBuilds(build, known.build) > 0) found.set(type, { rule, build });
      }
    }
    return new Map([...found].map(([type, { rule }]) => [type, rule]));
  }

  #setRule(type: string, rule: ShardedRule, now: number): void {
    const known = this.#types.get(type);
    // The number of shards changes only after all hosts had stopped, so nothing of the old shards is left.
    if (known === undefined || known.rule.shards !== rule.shards) {
      this.#begin(type, rule, now);
    } else if (JSON.stringify(known.rule) !== JSON.stringify(rule)) {
      known.rule = rule;
      // Pending requests to the previous strategy are dropped.
      known.requests = new StrategyRequests(CHOOSE_MS, known.requests.last);
      this.perform(type, known.shards.movesProposed([], now), now);
      known.strategy = strategyOf(rule.strategy, known.assigned);
      known.shards.adopt({ ...rule, chooseMs: CHOOSE_MS });
    }
  }

  #begin(type: string, rule: ShardedRule, now: number): void {
    const persisted = this.#persisted.get(type);
    this.#persisted.delete(type);
    // A home that the leader does not even expect is gone.
    const homes = [...(persisted?.homes ?? [])].filter(([, host]) => this.#deps.host(host) !== undefined);
    const assigned = persisted?.assigned ?? new Map<number, string>();
    this.#types.set(type, {
      rule,
      assigned,
      strategy: strategyOf(rule.strategy, assigned),
      leaving: new Set(),
      moves: [],
      faults: 0,
      shards: this.#newShards(rule, homes, persisted?.isPaused ?? false, now),
      requests: new StrategyRequests(CHOOSE_MS),
    });
  }

  #newShards(rule: ShardedRule, homes: readonly [number, string][], isPaused: boolean, now: number): TypeShards {
    const shards = new TypeShards({ ...rule, chooseMs: CHOOSE_MS }, homes, now);
    shards.pause(isPaused, Number.POSITIVE_INFINITY);
    return shards;
  }

  #shardHost({ incarnation, address, name }: TableHost): ShardHost {
    const { build = "", confirmsHomes: confirms = false } = this.#deps.host(incarnation) ?? {};
    return { incarnation, address, name, build, confirms };
  }

  gone(incarnation: string, now: number): void {
    this.stats.lost(incarnation);
    this.#performer.forgetAddresses();
    for (const [type, { leaving, requests, shards }] of this.#types) {
      leaving.delete(incarnation);
      requests.lost(incarnation);
      this.perform(type, shards.gone(incarnation, now), now);
    }
  }

  /** The host has a new stream. */
  returned(incarnation: string, now: number): void {
    for (const [type, { shards }] of this.#types) {
      const effects = shards.returned(incarnation, now);
      if (effects.length > 0) this.perform(type, effects, now);
    }
  }

  /** The host's stream has ended. */
  streamLost(incarnation: string, now: number): void {
    this.stats.lost(incarnation);
    for (const [type, { shards, requests }] of this.#types) {
      requests.lost(incarnation);
      this.perform(type, shards.streamLost(incarnation), now);
    }
  }

  // ——— Messages of hosts.

  message({ incarnation, stream }: LeaderHost, message: ShardReport, now: number): void {
    if (message.kind === "leaveShards") {
      for (const type of message.types) this.#types.get(type)?.leaving.add(incarnation);
      this.look(now);
      return;
    }
    if (message.kind === "shardStats") {
      this.stats.answered(incarnation, message);
      return;
    }
    const { type } = message;
    const known = this.#types.get(type);
    if (known === undefined) {
      // No connected host has the type.
      const requested = message.kind === "getShardHomes" ? message.shards : [];
      if (message.kind === "getShardHomes") this.#keepUnknown(type, message.held ?? [], incarnation);
      const homes = requested.map((shard) => ({ shard, host: undefined }));
      if (stream !== undefined && homes.length > 0) this.#deps.send([stream], { kind: "shardHomes", type, homes });
      return;
    }
    this.perform(type, this.#effectsOf(known, incarnation, message, now), now);
  }

  #effectsOf(
    known: ShardedType,
    host: string,
    message: Exclude<ShardReport, { kind: "leaveShards" | "shardStats" }>,
    now: number,
  ): ShardEffect[] {
    const { shards, requests } = known;
    switch (message.kind) {
      case "getShardHomes":
        this.#deps.instruments.homesRequested(this.#deps.namespace, message.type, message.shards.length);
        this.#keepHeld(message.type, known, message.held ?? [], host, now);
        return message.shards.flatMap((shard) => shards.requested(shard, host, now));
      case "shardStarted":
        for (const shard of message.shards) shards.confirmed(shard, host);
        return [];
      case "beginHandOffAck":
        return shards.handOffAcked(message.shard, message.move, host);
      case "shardStopped":
        return shards.shardStopped(message.shard, message.move, host, message.wasForced, now);
      case "strategyAnswer": {
        const answer = message.choices.map(({ shard, incarnation }) => ({ shard, to: incarnation }));
        return this.#strategies.follow(
          message.type,
          known,
          requests.answered(message.question, host, answer, message.problem),
          now,
        );
      }
    }
  }

  /**
   * A host reports the shards whose home it is. A home that the store has forgotten, because it was restored,
   * is persisted again.
   */
  #keepHeld(type: string, { shards }: ShardedType, held: readonly number[], host: string, now: number): void {
    const effects = held.flatMap((shard) => shards.held(shard, host));
    if (effects.length === 0) return;
    this.#deps.log.warn("shard.home-restored", { namespace: this.#deps.namespace, type, host, shards: held.length });
    this.perform(type, effects, now);
    // A host that leaves has to hand over these as well.
    this.look(now);
  }

  /**
   * The same for a type that no host has reported yet: the host has given up the type, and still has to hand
   * over its shards.
   */
  #keepUnknown(type: string, held: readonly number[], incarnation: string): void {
    if (held.length === 0) return;
    const persisted = this.#persisted.get(type) ?? { homes: new Map(), assigned: new Map(), isPaused: false };
    this.#persisted.set(type, persisted);
    const { namespace, persist } = this.#deps;
    for (const shard of held) {
      if (persisted.homes.has(shard)) continue;
      persisted.homes.set(shard, incarnation);
      persist({ namespace, type, shard, incarnation }, () => {});
    }
  }

  // ——— Time and effects.

  tick(now: number): void {
    this.stats.tick(now);
    for (const [type, known] of this.#types) {
      const { shards, requests } = known;
      this.perform(type, [...this.#strategies.follow(type, known, requests.tick(now), now), ...shards.tick(now)], now);
    }
  }

  perform(type: string, effects: readonly ShardEffect[], now: number): void {
    this.#performer.perform(type, effects, now);
  }

  /** Updates metrics. */
  measure(): void {
    const { namespace, instruments } = this.#deps;
    for (const [type, { shards }] of this.#types) {
      const counts = new Map(shards.regions().map(({ address, shards }) => [address, shards.length]));
      instruments.shards(namespace, type, counts, shards.moving.size);
    }
  }
}
