// Drives the sharded types of one namespace on the leader: feeds sharding/model/type-shards.ts the messages
// and changes of hosts, sends its decisions, persists homes, and asks strategies. Requests of operators are
// in operations/shard-operations.ts.
import type { ShardedRule } from "../../kernel/sharded-rule.ts";
import type { Clock } from "../../ports/clock.ts";
import type { LeaderHost, LeaderNamespace, NamespaceFeature } from "../../ports/cluster/leader-feature.ts";
import type { ShardReport, TableHost } from "../../ports/control-messages.ts";
import type { Log } from "../../ports/log.ts";
import type { ShardHomeChange, ShardHomeRow } from "../../ports/store/shards.ts";
import { leastShards } from "../model/least-shards.ts";
import type { ShardEffect, ShardHost } from "../model/shard-effects.ts";
import { type Left, readLeft } from "../model/steering-rows.ts";
import { checkedHome, checkedMoves, compareBuilds, type Region } from "../model/strategy.ts";
import { StrategyRequests } from "../model/strategy-requests.ts";
import { TypeShards } from "../model/type-shards.ts";
import { HomeAnnouncements } from "./home-announcements.ts";
import type { ShardInstruments } from "./metrics.ts";
import { ShardStats } from "./shard-stats.ts";
import { type MoveRecord, type ShardedType, strategyOf } from "./sharded-type.ts";
import { StrategyClient } from "./strategy-client.ts";

export interface ShardLeaderDeps extends Omit<LeaderNamespace, "feed"> {
  readonly clock: Clock;
  readonly log: Log;
  readonly instruments: ShardInstruments;
  /** Persists a home; calls back when it is durable. */
  note(change: ShardHomeChange, written: () => void): void;
}

/** Time limit for an answer of the strategy. */
const CHOOSE_MS = 5_000;
/** Moves kept for display. */
const HISTORY = 200;
/** Hosts with a known address, including hosts that are gone. */
const ADDRESSES = 1_000;
const FALLBACK = leastShards();

export class ShardLeader implements NamespaceFeature {
  readonly #deps: ShardLeaderDeps;
  readonly #relieved = new Set<string>();
  readonly #types = new Map<string, ShardedType>();
  /** Rows recorded by the previous leader, of types that no host has reported yet. */
  readonly #left: Map<string, Left>;
  readonly census = new ShardStats();
  readonly #own: StrategyClient;
  /** Addresses of hosts, including recently gone ones, for display. */
  readonly #addresses = new Map<string, string>();

  constructor(deps: ShardLeaderDeps, homes: readonly ShardHomeRow[]) {
    this.#deps = deps;
    this.#left = readLeft(homes);
    this.#own = new StrategyClient(deps);
  }

  get types(): ReadonlyMap<string, ShardedType> {
    return this.#types;
  }

  get deadline(): number {
    let first = this.census.deadline;
    for (const { shards, advice } of this.#types.values()) first = Math.min(first, shards.deadline, advice.deadline);
    return first;
  }

  // ——— Hosts.

  isHome(incarnation: string, type: string): boolean {
    const known = this.#types.get(type);
    if (known !== undefined) return known.shards.isHome(incarnation);
    return [...(this.#left.get(type)?.homes ?? [])].some(([, host]) => host === incarnation);
  }

  /** Hosts that have let go of a shard since the last call. */
  takeRelieved(): readonly string[] {
    const relieved = [...this.#relieved];
    this.#relieved.clear();
    return relieved;
  }

  /** Hosts or tables have changed. */
  look(now: number): void {
    for (const { incarnation, address } of this.#deps.hosts()) this.#addresses.set(incarnation, address);
    for (const [type, rule] of this.#rules()) this.#learn(type, rule, now);
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

  #learn(type: string, rule: ShardedRule, now: number): void {
    const known = this.#types.get(type);
    // The number of shards changes only after all hosts had stopped, so nothing of the old shards is left.
    if (known === undefined || known.rule.shards !== rule.shards) {
      this.#begin(type, rule, now);
    } else if (JSON.stringify(known.rule) !== JSON.stringify(rule)) {
      known.rule = rule;
      // Pending requests to the previous strategy are dropped.
      known.advice = new StrategyRequests(CHOOSE_MS, known.advice.last);
      this.perform(type, known.shards.proposed([], now), now);
      known.strategy = strategyOf(rule.strategy, known.told);
      known.shards.adopt({ ...rule, chooseMs: CHOOSE_MS });
    }
  }

  #begin(type: string, rule: ShardedRule, now: number): void {
    const left = this.#left.get(type);
    this.#left.delete(type);
    // A home that the leader does not even expect is gone.
    const homes = [...(left?.homes ?? [])].filter(([, host]) => this.#deps.host(host) !== undefined);
    const told = left?.told ?? new Map<number, string>();
    this.#types.set(type, {
      rule,
      told,
      strategy: strategyOf(rule.strategy, told),
      leaving: new Set(),
      moves: [],
      faults: 0,
      shards: this.#newShards(rule, homes, left?.isPaused ?? false, now),
      advice: new StrategyRequests(CHOOSE_MS),
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
    this.census.lost(incarnation);
    this.#forgetSome();
    for (const [type, { leaving, advice, shards }] of this.#types) {
      leaving.delete(incarnation);
      advice.lost(incarnation);
      this.perform(type, shards.gone(incarnation, now), now);
    }
  }

  #forgetSome(): void {
    for (const incarnation of this.#addresses.keys()) {
      if (this.#addresses.size <= ADDRESSES) return;
      if (this.#deps.host(incarnation) === undefined) this.#addresses.delete(incarnation);
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
    this.census.lost(incarnation);
    for (const [type, { shards, advice }] of this.#types) {
      advice.lost(incarnation);
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
      this.census.heard(incarnation, message);
      return;
    }
    const { type } = message;
    const known = this.#types.get(type);
    if (known === undefined) {
      // No connected host has the type.
      const asked = message.kind === "getShardHomes" ? message.shards : [];
      if (message.kind === "getShardHomes") this.#keepLeft(type, message.held ?? [], incarnation);
      const homes = asked.map((shard) => ({ shard, host: undefined }));
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
    const { shards, advice } = known;
    switch (message.kind) {
      case "getShardHomes":
        this.#deps.instruments.shardsAsked(this.#deps.namespace, message.type, message.shards.length);
        this.#keep(message.type, known, message.held ?? [], host, now);
        return message.shards.flatMap((shard) => shards.asked(shard, host, now));
      case "shardStarted":
        for (const shard of message.shards) shards.confirmed(shard, host);
        return [];
      case "beginHandOffAck":
        return shards.gathered(message.shard, message.move, host);
      case "shardStopped":
        return shards.stopped(message.shard, message.move, host, message.wasForced, now);
      case "strategyAnswer": {
        const said = message.choices.map(({ shard, incarnation }) => ({ shard, to: incarnation }));
        return this.#own.follow(
          message.type,
          known,
          advice.answered(message.question, host, said, message.problem),
          now,
        );
      }
    }
  }

  /**
   * A host reports the shards whose home it is. A home that the store has forgotten, because it was restored,
   * is persisted again.
   */
  #keep(type: string, { shards }: ShardedType, held: readonly number[], host: string, now: number): void {
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
  #keepLeft(type: string, held: readonly number[], incarnation: string): void {
    if (held.length === 0) return;
    const left = this.#left.get(type) ?? { homes: new Map(), told: new Map(), isPaused: false };
    this.#left.set(type, left);
    const { namespace, note } = this.#deps;
    for (const shard of held) {
      if (left.homes.has(shard)) continue;
      left.homes.set(shard, incarnation);
      note({ namespace, type, shard, incarnation }, () => {});
    }
  }

  tick(now: number): void {
    this.census.tick(now);
    for (const [type, known] of this.#types) {
      const { shards, advice } = known;
      this.perform(type, [...this.#own.follow(type, known, advice.tick(now), now), ...shards.tick(now)], now);
    }
  }

  // ——— Effects.

  perform(type: string, effects: readonly ShardEffect[], now: number): void {
    const known = this.#types.get(type)!;
    const queue = [...effects];
    const { send, speaker } = this.#deps;
    const telling = new HomeAnnouncements(type, send, (stream) => speaker(stream)?.confirmsHomes === true);
    // Many shards may be chosen in a row: the regions are computed once and then updated.
    let regions: Region[] | undefined;
    for (let i = 0; i < queue.length; i++) {
      const effect = queue[i]!;
      if (effect.kind === "choose" && known.strategy !== undefined) {
        regions ??= known.shards.regions();
        queue.push(...this.#choose(known, effect.shard, effect.asker, regions));
      } else {
        regions = undefined;
        queue.push(...this.#one(type, known, effect, telling, now));
      }
    }
    telling.flush();
    if (known.strategy !== undefined) return;
    const more = this.#own.ask(type, known, now);
    if (more.length > 0) this.perform(type, more, now);
  }

  #choose(
    { strategy, shards }: ShardedType,
    shard: number,
    asker: string | undefined,
    regions: Region[],
  ): ShardEffect[] {
    const said = attempt(() => strategy!.home(shard, regions, asker));
    const host = checkedHome(said, regions) ?? FALLBACK.home(shard, regions, asker);
    (regions.find(({ incarnation }) => incarnation === host)?.shards as number[] | undefined)?.push(shard);
    return shards.chosen(shard, host);
  }

  #one(type: string, known: ShardedType, effect: ShardEffect, telling: HomeAnnouncements, now: number): ShardEffect[] {
    const { shards } = known;
    const { namespace, send, note } = this.#deps;
    switch (effect.kind) {
      case "home":
      case "nobody": {
        const host = effect.kind === "home" ? this.tableHost(effect.host) : undefined;
        telling.tell(this.#streamsOf(effect.to), { shard: effect.shard, host });
        return [];
      }
      case "gather": {
        telling.flush();
        const everybody = [...this.#deps.hosts()].filter(({ stream }) => stream !== undefined);
        const { shard, move } = effect;
        const streams = everybody.map(({ stream }) => stream!);
        send(streams, { kind: "beginHandOff", type, shard, move });
        const hosts = everybody.map(({ incarnation }) => incarnation);
        return shards.told(shard, move, hosts);
      }
      case "stop": {
        telling.flush();
        const { shard, move, host, to } = effect;
        const next = to === undefined ? undefined : this.tableHost(to);
        send(this.#streamsOf([host]), { kind: "handOff", type, shard, move, to: next });
        return [];
      }
      case "choose":
        known.advice.wantHome(effect.shard, effect.asker);
        return [];
      case "propose": {
        const { strategy } = known;
        if (strategy === undefined) {
          known.advice.wantMoves();
          return [];
        }
        const regions = shards.regions();
        const { moving } = shards;
        const said = attempt(() => strategy.moves(regions, moving));
        return shards.proposed(checkedMoves(said, regions, moving, Number.POSITIVE_INFINITY), now);
      }
      case "save": {
        const { shard, host } = effect;
        note({ namespace, type, shard, incarnation: host }, () => this.#saved(type, shard, host));
        return [];
      }
      case "moved":
        this.#relieved.add(effect.from);
        this.#moved(type, known.moves, effect);
        return [];
    }
  }

  #moved(type: string, moves: MoveRecord[], effect: Extract<ShardEffect, { kind: "moved" }>): void {
    const { shard, from, to, reason, tookMs, wasForced } = effect;
    const [left, came] = [from, to].map((host) => host && this.#addressOf(host));
    moves.push({ shard, from: left!, to: came, reason, tookMs, forced: wasForced, at: this.#deps.clock.now() });
    if (moves.length > HISTORY) moves.shift();
    const result = to === undefined ? "nowhere" : wasForced ? "forced" : "moved";
    this.#deps.instruments.shardMoved(this.#deps.namespace, type, reason, result, tookMs / 1_000);
  }

  /** Also of a host that is gone. */
  #addressOf(incarnation: string): string {
    return this.#deps.host(incarnation)?.address ?? this.#addresses.get(incarnation) ?? incarnation;
  }

  #saved(type: string, shard: number, host: string | undefined): void {
    const known = this.#types.get(type);
    const now = this.#deps.clock.monotonic();
    if (known !== undefined) this.perform(type, known.shards.saved(shard, host, now), now);
  }

  // ——— Names.

  tableHost(incarnation: string): TableHost | undefined {
    const host = this.#deps.host(incarnation);
    return host && { incarnation, address: host.address, name: host.name };
  }

  #streamsOf(incarnations: readonly string[]): number[] {
    return incarnations.flatMap((incarnation) => this.#deps.host(incarnation)?.stream ?? []);
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

/** Runs code of the application; an exception counts as no answer. */
function attempt(ask: () => unknown): unknown {
  try {
    return ask();
  } catch {
    return undefined;
  }
}
