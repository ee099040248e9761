// The leader's client for strategies of the application. It sends the requests of
// sharding/model/strategy-requests.ts to hosts that have the code, and applies the valid parts of their
// answers. Every shard gets a home, with or without a usable answer.

import type { ShardHostInfo } from "../../kernel/shard-strategy.ts";
import type { LeaderNamespace } from "../../ports/cluster/leader-feature.ts";
import type { Log } from "../../ports/log.ts";
import { leastShards } from "../model/least-shards.ts";
import type { ShardEffect } from "../model/shard-effects.ts";
import { checkedHome, checkedMoves, compareBuilds } from "../model/strategy.ts";
import type { StrategyEffect } from "../model/strategy-requests.ts";
import type { ShardInstruments } from "./metrics.ts";
import type { ShardedType } from "./sharded-type.ts";

export interface StrategyClientDeps extends Pick<LeaderNamespace, "namespace" | "host" | "hosts" | "send"> {
  readonly log: Log;
  readonly instruments: ShardInstruments;
}

const FALLBACK = leastShards();

export class StrategyClient {
  readonly #deps: StrategyClientDeps;

  constructor(deps: StrategyClientDeps) {
    this.#deps = deps;
  }

  /** Sends pending requests. Returns effects that follow at once, because there may be no host to ask. */
  sendRequests(type: string, known: ShardedType, now: number): ShardEffect[] {
    return this.follow(type, known, known.requests.flush(this.#strategyHosts(type), now), now);
  }

  /** Hosts that have the strategy, the newest build first. */
  #strategyHosts(type: string): string[] {
    return [...this.#deps.hosts()]
      .filter(({ stream, sharded }) => stream !== undefined && sharded.get(type)?.strategy.kind === "custom")
      .sort((a, b) => compareBuilds(b.build, a.build))
      .map(({ incarnation }) => incarnation);
  }

  follow(type: string, known: ShardedType, effects: readonly StrategyEffect[], now: number): ShardEffect[] {
    return effects.flatMap((effect) => this.#one(type, known, effect, now));
  }

  #one(type: string, known: ShardedType, effect: StrategyEffect, now: number): ShardEffect[] {
    const { shards } = known;
    const { namespace, send, log, instruments, host } = this.#deps;
    switch (effect.kind) {
      case "askStrategy": {
        const { question, wanted } = effect;
        const stream = host(effect.host)?.stream;
        const [regions, moving] = [shards.regions(), [...shards.moving]];
        send(stream === undefined ? [] : [stream], { kind: "askStrategy", question, type, regions, moving, wanted });
        return [];
      }
      case "homes": {
        const regions = shards.regions();
        return effect.homes.flatMap(({ shard, to }) => shards.allocated(shard, chooseHome(shard, to, regions)));
      }
      case "moves": {
        const { moving } = shards;
        // Without a limit here: `TypeShards` limits the number of simultaneous moves.
        return shards.movesProposed(
          checkedMoves(effect.moves, shards.regions(), moving, Number.POSITIVE_INFINITY),
          now,
        );
      }
      case "fault": {
        const { fault, why } = effect;
        known.faults++;
        instruments.strategyFailed(namespace, type, fault);
        log.warn("strategy.failed", { namespace, type, fault, why });
        return [];
      }
    }
  }
}

/**
 * The strategy's choice, or the fallback without a usable one. Adds the shard to its new home, so that later
 * choices in the same batch count it.
 */
export function chooseHome(shard: number, answer: unknown, regions: readonly ShardHostInfo[]): string | undefined {
  if (regions.length === 0) return undefined;
  const home = checkedHome(answer, regions) ?? FALLBACK.home(shard, regions, undefined);
  (regions.find(({ incarnation }) => incarnation === home)!.shards as number[]).push(shard);
  return home;
}
