// Performs the effects of sharding/model/type-shards.ts on the leader: announces homes, sends hand-off
// messages, persists homes, and asks strategies. A message about a shard never overtakes the announcement of
// its home.
import type { ShardHostInfo } from "../../kernel/shard-strategy.ts";
import type { SchedulerMessage, ShardOrder, TableHost } from "../../ports/control-messages.ts";
import type { ShardMoved } from "../../ports/shard-admin.ts";
import type { ShardEffect } from "../model/shard-effects.ts";
import { checkedMoves } from "../model/strategy.ts";
import type { CoordinatorDriverDeps } from "./coordinator-driver.ts";
import type { ShardedType } from "./sharded-type.ts";
import { chooseHome, type StrategyClient } from "./strategy-client.ts";

/** Moves kept for display. */
const HISTORY = 200;
/** Hosts with a known address, including hosts that are gone. */
const ADDRESSES = 1_000;

export class EffectPerformer {
  readonly #deps: CoordinatorDriverDeps;
  readonly #types: ReadonlyMap<string, ShardedType>;
  readonly #strategies: StrategyClient;
  readonly #relieved = new Set<string>();
  /** Addresses of hosts, including recently gone ones, for display. */
  readonly #addresses = new Map<string, string>();

  constructor(deps: CoordinatorDriverDeps, types: ReadonlyMap<string, ShardedType>, strategies: StrategyClient) {
    this.#deps = deps;
    this.#types = types;
    this.#strategies = strategies;
  }

  perform(type: string, effects: readonly ShardEffect[], now: number): void {
    const known = this.#types.get(type)!;
    const queue = [...effects];
    const { send, speaker } = this.#deps;
    const announcements = new HomeAnnouncements(type, send, (stream) => speaker(stream)?.confirmsHomes === true);
    // Many shards may be allocated in a row: the regions are computed once and then updated.
    let regions: ShardHostInfo[] | undefined;
    for (let i = 0; i < queue.length; i++) {
      const effect = queue[i]!;
      if (effect.kind === "allocate" && known.strategy !== undefined) {
        regions ??= known.shards.regions();
        queue.push(...this.#allocate(known, effect.shard, effect.asker, regions));
      } else {
        regions = undefined;
        queue.push(...this.#one(type, known, effect, announcements, now));
      }
    }
    announcements.flush();
    if (known.strategy !== undefined) return;
    const more = this.#strategies.sendRequests(type, known, now);
    if (more.length > 0) this.perform(type, more, now);
  }

  #allocate(
    { strategy, shards }: ShardedType,
    shard: number,
    asker: string | undefined,
    regions: ShardHostInfo[],
  ): ShardEffect[] {
    const answer = attempt(() => strategy!.home(shard, regions, asker));
    return shards.allocated(shard, chooseHome(shard, answer, regions));
  }

  #one(
    type: string,
    known: ShardedType,
    effect: ShardEffect,
    announcements: HomeAnnouncements,
    now: number,
  ): ShardEffect[] {
    const { shards } = known;
    const { namespace, send, persist } = this.#deps;
    switch (effect.kind) {
      case "home":
      case "noHome": {
        const host = effect.kind === "home" ? this.#tableHost(effect.host) : undefined;
        announcements.add(this.#streamsOf(effect.to), { shard: effect.shard, host });
        return [];
      }
      case "beginHandOff": {
        announcements.flush();
        const connected = [...this.#deps.hosts()].filter(({ stream }) => stream !== undefined);
        const { shard, move } = effect;
        const streams = connected.map(({ stream }) => stream!);
        send(streams, { kind: "beginHandOff", type, shard, move });
        const hosts = connected.map(({ incarnation }) => incarnation);
        return shards.handOffBegun(shard, move, hosts);
      }
      case "handOff": {
        announcements.flush();
        const { shard, move, host, to } = effect;
        const next = to === undefined ? undefined : this.#tableHost(to);
        send(this.#streamsOf([host]), { kind: "handOff", type, shard, move, to: next });
        return [];
      }
      case "allocate":
        known.requests.wantHome(effect.shard, effect.asker);
        return [];
      case "proposeMoves": {
        const { strategy } = known;
        if (strategy === undefined) {
          known.requests.wantMoves();
          return [];
        }
        const regions = shards.regions();
        const { moving } = shards;
        const answer = attempt(() => strategy.moves(regions, moving));
        return shards.movesProposed(checkedMoves(answer, regions, moving, Number.POSITIVE_INFINITY), now);
      }
      case "persist": {
        const { shard, host } = effect;
        persist({ namespace, type, shard, incarnation: host }, () => this.#persisted(type, shard, host));
        return [];
      }
      case "moved":
        this.#relieved.add(effect.from);
        this.#moved(type, known.moves, effect);
        return [];
    }
  }

  #persisted(type: string, shard: number, host: string | undefined): void {
    const known = this.#types.get(type);
    const now = this.#deps.clock.monotonic();
    if (known !== undefined) this.perform(type, known.shards.persisted(shard, host, now), now);
  }

  #moved(type: string, moves: ShardMoved[], effect: Extract<ShardEffect, { kind: "moved" }>): void {
    const { shard, from, to, reason, tookMs, wasForced } = effect;
    const [left, came] = [from, to].map((host) => host && this.#addressOf(host));
    moves.push({ shard, from: left!, to: came, reason, tookMs, forced: wasForced, at: this.#deps.clock.now() });
    if (moves.length > HISTORY) moves.shift();
    const result = to === undefined ? "nowhere" : wasForced ? "forced" : "moved";
    this.#deps.instruments.shardMoved(this.#deps.namespace, type, reason, result, tookMs / 1_000);
  }

  /** Hosts that have let go of a shard since the last call. */
  takeRelieved(): readonly string[] {
    const relieved = [...this.#relieved];
    this.#relieved.clear();
    return relieved;
  }

  // ——— Names.

  #tableHost(incarnation: string): TableHost | undefined {
    const host = this.#deps.host(incarnation);
    return host && { incarnation, address: host.address, name: host.name };
  }

  #streamsOf(incarnations: readonly string[]): number[] {
    return incarnations.flatMap((incarnation) => this.#deps.host(incarnation)?.stream ?? []);
  }

  /** Also of a host that is gone. */
  #addressOf(incarnation: string): string {
    return this.#deps.host(incarnation)?.address ?? this.#addresses.get(incarnation) ?? incarnation;
  }

  /** Records the addresses of all present hosts. */
  learnAddresses(): void {
    for (const { incarnation, address } of this.#deps.hosts()) this.#addresses.set(incarnation, address);
  }

  forgetAddresses(): void {
    for (const incarnation of this.#addresses.keys()) {
      if (this.#addresses.size <= ADDRESSES) return;
      if (this.#deps.host(incarnation) === undefined) this.#addresses.delete(incarnation);
    }
  }
}

/** Collects the homes that the hosts have to know, many for one host in one message. */
type AnnouncedHome = Extract<ShardOrder, { kind: "shardHomes" }>["homes"][number];
type Send = (streams: readonly number[], message: SchedulerMessage) => void;

class HomeAnnouncements {
  readonly #type: string;
  readonly #send: Send;
  readonly #confirms: (stream: number) => boolean;
  readonly #homes = new Map<number, AnnouncedHome[]>();

  /** `confirms`: the host on that stream confirms homes. */
  constructor(type: string, send: Send, confirms: (stream: number) => boolean) {
    this.#type = type;
    this.#send = send;
    this.#confirms = confirms;
  }

  add(streams: readonly number[], home: AnnouncedHome): void {
    for (const stream of streams) {
      const homes = this.#homes.get(stream);
      if (homes === undefined) this.#homes.set(stream, [home]);
      else homes.push(home);
    }
  }

  flush(): void {
    for (const [stream, homes] of this.#homes) {
      const confirm = this.#confirms(stream) ? { confirm: true } : {};
      this.#send([stream], { kind: "shardHomes", type: this.#type, homes, ...confirm });
    }
    this.#homes.clear();
  }
}

/** Runs code of the application; an exception counts as no answer. */
function attempt(run: () => unknown): unknown {
  try {
    return run();
  } catch {
    return undefined;
  }
}
