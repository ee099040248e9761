// The leader's part in the sharded types of one namespace: feeds sharding/type-shards.ts what hosts say and who is there, tells hosts what
// it decides, has homes noted, and asks strategies.
import type { ShardedRule, StrategyRule } from "../kernel/sharded-rule.ts";
import type { HostRecord } from "../placement/connection-controller.ts";
import type { SchedulerMessage, ShardReport, TableHost, TypeTable } from "../placement/messages.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { ShardHomeChange, ShardHomeRow } from "../ports/shards.ts";
import { hashedShards } from "../sharding/hashed-shards.ts";
import { leastShards } from "../sharding/least-shards.ts";
import type { MoveReason, ShardEffect, ShardHost } from "../sharding/shard-effects.ts";
import { checkedHome, checkedMoves, type Strategy } from "../sharding/strategy.ts";
import { toldShards } from "../sharding/told-shards.ts";
import { TypeShards } from "../sharding/type-shards.ts";

export interface ShardLeaderWorld {
  readonly namespace: string;
  readonly clock: Clock;
  readonly log: Log;
  host(incarnation: string): HostRecord | undefined;
  hosts(): Iterable<HostRecord>;
  /** The newest table of a type that everybody was told. */
  table(type: string): TypeTable | undefined;
  send(streams: readonly number[], message: SchedulerMessage): void;
  /** Has a home noted; calls back when it is durable. */
  note(change: ShardHomeChange, written: () => void): void;
}

/** A move that is over, for people. */
export interface MoveRecord {
  readonly shard: number;
  readonly from: string;
  readonly to: string | undefined;
  readonly reason: MoveReason;
  readonly tookMs: number;
  readonly wasForced: boolean;
  /** Monotonic. */
  readonly at: number;
}

interface ShardedType {
  readonly shards: TypeShards;
  readonly strategy: Strategy;
  /** What somebody outside has said of where shards are to live, by the names of hosts. */
  readonly told: Map<number, string>;
  readonly leaving: Set<string>;
  readonly moves: MoveRecord[];
}

/** How long a strategy may think. */
const CHOOSE_MS = 5_000;
/** Moves that are remembered, for people. */
const HISTORY = 200;

export class ShardLeader {
  readonly #world: ShardLeaderWorld;
  readonly #types = new Map<string, ShardedType>();
  /** What the leader before left behind, of types that nobody has spoken of yet. */
  readonly #left: Map<string, [number, string][]>;

  constructor(world: ShardLeaderWorld, homes: readonly ShardHomeRow[]) {
    this.#world = world;
    const byType = Map.groupBy(homes, ({ type }) => type);
    this.#left = new Map(
      [...byType].map(([type, rows]) => [type, rows.map(({ shard, incarnation }) => [shard, incarnation])]),
    );
  }

  get deadline(): number {
    let first = Number.POSITIVE_INFINITY;
    for (const { shards } of this.#types.values()) first = Math.min(first, shards.deadline);
    return first;
  }

  // ——— Hosts.

  /** Something about hosts or tables has changed. */
  look(now: number): void {
    for (const { sharded } of this.#world.hosts()) {
      for (const [type, rule] of sharded) if (!this.#types.has(type)) this.#begin(type, rule, now);
    }
    for (const [type, known] of this.#types) {
      const hosts = (this.#world.table(type)?.hosts ?? [])
        .filter(({ incarnation }) => !known.leaving.has(incarnation) && this.#world.host(incarnation) !== undefined)
        .map((host) => this.#shardHost(host));
      this.#perform(type, known.shards.setRegions(hosts, now), now);
    }
  }

  #shardHost({ incarnation, address, name }: TableHost): ShardHost {
    return { incarnation, address, name, build: this.#world.host(incarnation)?.build ?? "" };
  }

  #begin(type: string, rule: ShardedRule, now: number): void {
    const told = new Map<number, string>();
    // Whoever was a home and is not even waited for is gone.
    const homes = (this.#left.get(type) ?? []).filter(([, host]) => this.#world.host(host) !== undefined);
    this.#left.delete(type);
    const shards = new TypeShards({ ...rule, chooseMs: CHOOSE_MS }, homes, now);
    this.#types.set(type, { shards, strategy: strategyOf(rule.strategy, told), told, leaving: new Set(), moves: [] });
  }

  gone(incarnation: string, now: number): void {
    for (const [type, known] of this.#types) {
      known.leaving.delete(incarnation);
      this.#perform(type, known.shards.gone(incarnation, now), now);
    }
  }

  /** Its stream has ended. */
  deaf(incarnation: string, now: number): void {
    for (const [type, { shards }] of this.#types) this.#perform(type, shards.deaf(incarnation), now);
  }

  // ——— What they say.

  heard({ incarnation, stream }: HostRecord, message: ShardReport, now: number): void {
    if (message.kind === "shardLeave") {
      for (const type of message.types) this.#types.get(type)?.leaving.add(incarnation);
      this.look(now);
      return;
    }
    const { type } = message;
    const known = this.#types.get(type)?.shards;
    if (known === undefined) {
      // Nobody who was heard of hosts it.
      const asked = message.kind === "shardAsk" ? message.shards : [];
      const homes = asked.map((shard) => ({ shard, host: undefined }));
      if (stream !== undefined && homes.length > 0) this.#world.send([stream], { kind: "shardHomes", type, homes });
      return;
    }
    switch (message.kind) {
      case "shardAsk": {
        const effects = message.shards.flatMap((shard) => known.asked(shard, incarnation, now));
        this.#perform(type, effects, now);
        break;
      }
      case "shardKept":
        this.#perform(type, known.gathered(message.shard, message.move, incarnation), now);
        break;
      case "shardStopped": {
        const { shard, move, wasForced } = message;
        this.#perform(type, known.stopped(shard, move, incarnation, wasForced, now), now);
        break;
      }
    }
  }

  tick(now: number): void {
    for (const [type, { shards }] of this.#types) this.#perform(type, shards.tick(now), now);
  }

  // ——— What follows.

  #perform(type: string, effects: readonly ShardEffect[], now: number): void {
    const known = this.#types.get(type)!;
    const queue = [...effects];
    for (let effect = queue.shift(); effect !== undefined; effect = queue.shift()) {
      queue.push(...this.#one(type, known, effect, now));
    }
  }

  #one(type: string, { shards, strategy, moves }: ShardedType, effect: ShardEffect, now: number): ShardEffect[] {
    const { namespace, send, note } = this.#world;
    switch (effect.kind) {
      case "home":
      case "nobody": {
        const host = effect.kind === "home" ? this.#tableHost(effect.host) : undefined;
        const homes = [{ shard: effect.shard, host }];
        send(this.#streamsOf(effect.to), { kind: "shardHomes", type, homes });
        return [];
      }
      case "gather": {
        const everybody = [...this.#world.hosts()].filter(({ stream }) => stream !== undefined);
        const { shard, move } = effect;
        send(
          everybody.map(({ stream }) => stream!),
          { kind: "shardGather", type, shard, move },
        );
        return shards.told(
          shard,
          move,
          everybody.map(({ incarnation }) => incarnation),
        );
      }
      case "stop": {
        const { shard, move, host, to } = effect;
        const next = to === undefined ? undefined : this.#tableHost(to);
        send(this.#streamsOf([host]), { kind: "shardStop", type, shard, move, to: next });
        return [];
      }
      case "choose": {
        const regions = shards.regions();
        const said = attempt(() => strategy.home(effect.shard, regions, effect.asker));
        return shards.chosen(effect.shard, checkedHome(said, regions));
      }
      case "propose": {
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
        moves.push({ ...effect, at: now });
        if (moves.length > HISTORY) moves.shift();
        return [];
    }
  }

  #saved(type: string, shard: number, host: string | undefined): void {
    const known = this.#types.get(type);
    const now = this.#world.clock.monotonic();
    if (known !== undefined) this.#perform(type, known.shards.saved(shard, host, now), now);
  }

  #tableHost(incarnation: string): TableHost | undefined {
    const host = this.#world.host(incarnation);
    return host && { incarnation, address: host.address, name: host.name };
  }

  #streamsOf(incarnations: readonly string[]): number[] {
    return incarnations.flatMap((incarnation) => this.#world.host(incarnation)?.stream ?? []);
  }
}

function strategyOf(rule: StrategyRule, told: ReadonlyMap<number, string>): Strategy {
  switch (rule.kind) {
    case "least":
      return leastShards(rule);
    case "hashed":
      return hashedShards();
    case "told":
      return toldShards(told);
    case "own":
      return leastShards();
  }
}

/** Code of others: whatever it throws, it has said nothing. */
function attempt(ask: () => unknown): unknown {
  try {
    return ask();
  } catch {
    return undefined;
  }
}
