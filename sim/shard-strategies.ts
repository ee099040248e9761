// Custom strategies of a run. Most responses are correct. During the chaos some are faulty in the ways in
// which application code can be. After healing all are correct.

import type { Prng } from "../src/kernel/prng.ts";
import type { ShardHostInfo, ShardMoveWish, ShardStrategy } from "../src/kernel/shard-strategy.ts";
import type { Process } from "../src/world/process.ts";
import type { StrategyCall } from "./observer.ts";
import type { OddAdvice, OwnStrategyPlan } from "./plan.ts";
import type { Stage } from "./stage.ts";

/** The leader's timeout is shorter. */
const TOO_LATE_MS = 5_100;
const VERY_LATE_MS = 60_000;
/** Number of previous hosts that the strategy remembers. */
const REMEMBERED = 20;

/** Long enough for a late response to arrive first. */
const MEANWHILE_MS = 500;

/**
 * Responses held back until the next request for a home, by run, namespace and type: the worst moment for
 * them to arrive.
 */
const biding = new WeakMap<Stage, Map<string, { readonly askedAt: number; readonly go: () => void }[]>>();

type Box = { readonly process: Process | undefined };

/** The strategy of one process. */
export function ownStrategy(
  stage: Stage,
  box: Box,
  namespace: string,
  type: string,
  plan: OwnStrategyPlan,
): ShardStrategy {
  const seen: string[] = [];

  /** The draws do not depend on requests to other processes. */
  const chanceOf = (what: string): Prng => stage.chance.child(`strategy of ${type} ${what} ${stage.now}`);

  function begin(shard: number | undefined, hosts: readonly ShardHostInfo[]): StrategyCall {
    for (const { incarnation } of hosts) if (!seen.includes(incarnation)) seen.push(incarnation);
    if (seen.length > REMEMBERED) seen.splice(0, seen.length - REMEMBERED);
    const process = box.process!;
    const call: StrategyCall = {
      process,
      namespace,
      type,
      shard,
      askedAt: stage.now,
      endedAt: undefined,
      answer: undefined,
    };
    for (const one of stage.observers) one.strategyCalled?.(call);
    return call;
  }

  function end(call: StrategyCall, answer?: string): void {
    Object.assign(call, { endedAt: stage.now, answer });
    for (const one of stage.observers) one.strategyAnswered?.(call);
  }

  const oddly = (chance: Prng): OddAdvice | undefined =>
    stage.isChaos && chance.chance(plan.oddly) ? chance.pick(plan.odd) : undefined;

  async function think({ process, shard }: StrategyCall, odd: OddAdvice | undefined, chance: Prng): Promise<void> {
    const after = (ms: number): Promise<void> => new Promise((go) => void process.clock.after(ms, go));
    const isPressed = shard !== undefined && letGo();
    if (odd === "never") await new Promise(() => {});
    if (odd === "late") {
      if (chance.chance(0.5)) await after(chance.between(TOO_LATE_MS, VERY_LATE_MS));
      else await new Promise<void>((go) => bide(go));
      return;
    }
    const ms = Math.max(chance.between(0, plan.thinksMs), isPressed ? MEANWHILE_MS : 0);
    if (ms > 0) await after(ms);
    if (odd === "throws") throw new Error("no idea");
  }

  function bide(go: () => void): void {
    const here = biding.get(stage) ?? new Map<string, { readonly askedAt: number; readonly go: () => void }[]>();
    biding.set(stage, here);
    const key = `${namespace}/${type}`;
    here.set(key, [...(here.get(key) ?? []), { askedAt: stage.now, go }]);
  }

  /** Releases the held-back responses whose timeout has passed. */
  function letGo(): boolean {
    const key = `${namespace}/${type}`;
    const all = biding.get(stage)?.get(key) ?? [];
    const isLate = ({ askedAt }: { readonly askedAt: number }): boolean => stage.now - askedAt >= TOO_LATE_MS;
    const late = all.filter(isLate);
    if (late.length === 0) return false;
    biding.get(stage)!.set(
      key,
      all.filter((one) => !isLate(one)),
    );
    for (const { go } of late) go();
    return true;
  }

  /** A host that cannot be the home. */
  async function wrong(odd: OddAdvice, hosts: readonly ShardHostInfo[], chance: Prng): Promise<unknown> {
    const isThere = (incarnation: string): boolean => hosts.some((host) => host.incarnation === incarnation);
    switch (odd) {
      case "gone":
        return seen.find((incarnation) => !isThere(incarnation)) ?? "gone";
      case "unknown":
        return "nobody";
      case "elsewhere": {
        const members = await stage.world.database.truth.coordination.members();
        return members.find(({ incarnation }) => !isThere(incarnation))?.incarnation ?? "elsewhere";
      }
      case "nonsense":
        return chance.pick([undefined, null, 7, {}, [], ""]);
      default:
        return undefined;
    }
  }

  const strategy: ShardStrategy = {
    async home(shard, hosts, asker) {
      const chance = chanceOf(`home ${shard}`);
      const call = begin(shard, hosts);
      const odd = oddly(chance);
      try {
        await think(call, odd, chance);
      } catch (error) {
        end(call);
        throw error;
      }
      const bad = odd === undefined ? undefined : await wrong(odd, hosts, chance);
      if (bad !== undefined || odd === "nonsense") {
        end(call);
        return bad as string;
      }
      const meant = plan.way === "asker" && asker !== undefined ? asker : spread(shard, hosts);
      end(call, meant.incarnation);
      return chance.pick([meant, meant.incarnation, meant.address]);
    },
  };
  if (plan.way === "asker" && !plan.restless) return strategy;

  async function moves(hosts: readonly ShardHostInfo[], moving: ReadonlySet<number>): Promise<ShardMoveWish[]> {
    const chance = chanceOf("moves");
    const call = begin(undefined, hosts);
    const odd = oddly(chance);
    try {
      await think(call, odd, chance);
    } finally {
      end(call);
    }
    const shards = hosts.flatMap((host) => host.shards.map((shard) => ({ shard, host })));
    if (odd !== undefined) return (await oddMoves(odd, shards, hosts, chance)) as ShardMoveWish[];
    if (plan.restless && stage.isChaos) {
      const some = chance.shuffle(shards).slice(0, chance.below(4));
      return some.map(({ shard }) => ({ shard, to: chance.chance(0.4) ? undefined : chance.pick(hosts) }));
    }
    if (plan.way === "asker") return [];
    const misplaced = shards.filter(({ shard, host }) => !moving.has(shard) && spread(shard, hosts) !== host);
    return misplaced.map(({ shard }) => ({ shard, to: chance.chance(0.5) ? undefined : spread(shard, hosts) }));
  }

  async function oddMoves(
    odd: OddAdvice,
    shards: readonly { readonly shard: number; readonly host: ShardHostInfo }[],
    hosts: readonly ShardHostInfo[],
    chance: Prng,
  ): Promise<unknown> {
    if (odd === "nonsense")
      return chance.pick<unknown>([undefined, 7, "all", [null, { shard: -1 }, { shard: "1" }, {}]]);
    if (odd === "all") return shards.map(({ shard }) => ({ shard }));
    const some = chance.shuffle(shards).slice(0, 1 + chance.below(3));
    if (odd === "twice") return some.flatMap(({ shard }) => hosts.slice(0, 2).map((to) => ({ shard, to })));
    const to = await wrong(odd, hosts, chance);
    return some.map(({ shard }) => ({ shard, to: to ?? chance.pick(hosts) }));
  }

  return { ...strategy, moves };
}

/** The same result on every host. */
function spread(shard: number, hosts: readonly ShardHostInfo[]): ShardHostInfo {
  const sorted = [...hosts].sort((a, b) => (a.address < b.address ? -1 : 1));
  return sorted[shard % sorted.length]!;
}
