// Faults of shards at one event: the hosts and actors that they draw, and the calls and departures that make
// shards move. The families of this folder build on it.
import type { Prng } from "../../../src/kernel/prng.ts";
import type { VirtualControlMessage } from "../../../src/world/network/virtual-control.ts";
import { makeCall } from "../../callers.ts";
import { hasRole } from "../../checkers/looks.ts";
import type { Plan, PlannedCall, PlannedHost } from "../../plan.ts";
import type { Player, Stage, TrapEvent } from "../../stage.ts";
import { type AtWork, type Hit, inBothWays } from "../at-work.ts";
import { type Fault, fault, hostNames, lengths, times } from "../fault.ts";
import { atNthMessage } from "../network/at-message.ts";
import { atMoment, stopAndRestart } from "../network/players.ts";
import { breakBoth, waysToLeader } from "../network/streams.ts";

export type Target = Pick<PlannedCall, "from" | "type" | "id">;

export interface AtShard extends AtWork {
  /** Actors that are called, so that their shards are requested. */
  readonly targets: readonly Target[];
  /** Leaves and returns, so that shards move. */
  readonly leaver: string;
  readonly leaveMs: number;
}

export const CALL_MS = 10_000;
export const BACK_MS = 100;
const LATER_MS = 10;

/** Hosts that can be homes, and the types of their shards. */
export function homesOf(plan: Plan): { readonly names: readonly string[]; readonly types: readonly string[] } {
  const { hosts, sharded = {} } = plan;
  const isHome = (host: PlannedHost, type: string): boolean => host.types.includes(type) && hasRole(plan, host, type);
  const homes = hosts.filter((host) => Object.keys(sharded).some((type) => isHome(host, type)));
  const types = Object.keys(sharded).filter((type) => homes.some((host) => isHome(host, type)));
  return { names: hostNames({ ...plan, hosts: homes }), types };
}

export const callersOf = (plan: Plan): string[] =>
  hostNames({ ...plan, hosts: plan.hosts.filter(({ dedicated }) => !dedicated) });

export function drawTargets(chance: Prng, plan: Plan, most: number): Target[] {
  const { types } = homesOf(plan);
  const callers = callersOf(plan);
  return Array.from({ length: 1 + chance.below(most) }, () => {
    return { from: chance.pick(callers), type: chance.pick(types), id: `box-${chance.below(100)}` };
  });
}

export function callShards(
  stage: Stage,
  targets: readonly Target[],
  name: string,
  how: PlannedCall["how"] = {},
  ms = CALL_MS,
): void {
  for (const [i, target] of targets.entries()) {
    const planned = { ...target, at: stage.now, method: "append", how, timeoutMs: ms };
    void makeCall(stage, planned, `${name.replaceAll(" ", "-")}-${i}`);
  }
}

/** A fault at the event that `arm` waits for. */
export function atShard(
  name: string,
  summary: string,
  arm: (stage: Stage, planned: AtShard, spring: (player: Player) => void) => void,
  hit: Hit,
  isThere: (plan: Plan) => boolean = () => true,
): Fault {
  return fault<AtShard>({
    name,
    summary,
    draw(chance, plan) {
      const { names, types } = homesOf(plan);
      if (types.length === 0 || names.length === 0 || callersOf(plan).length === 0 || !isThere(plan)) return [];
      const [ms, nth, leaveMs] = [lengths(chance, 10, 30_000), lengths(chance, 1, 6), lengths(chance, 1, 2_000)];
      return times(chance, plan, 3, () => ({
        nth: nth(),
        ms: ms(),
        quietly: chance.chance(0.5),
        targets: drawTargets(chance, plan, 6),
        leaver: chance.pick(names),
        leaveMs: leaveMs(),
      }));
    },
    happen(stage, planned, strike) {
      const { targets, leaver, leaveMs, at } = planned;
      arm(stage, planned, (player) => hit(stage, player, planned, strike));
      callShards(stage, targets, `${name}-${at}`);
      stage.later(leaveMs, () => stopAndRestart(stage, stage.player(leaver), BACK_MS));
    },
  });
}

export const diesOrHangs = inBothWays(atShard);

export const atMessage =
  (isIt: (sent: VirtualControlMessage, to: number) => boolean, whom: (from: Player, to: Player) => Player) =>
  (stage: Stage, { nth }: AtShard, spring: (player: Player) => void): void =>
    atNthMessage(stage, nth, isIt, (from, to) => spring(whom(from, to)));

export const atEvent =
  (isIt: (event: TrapEvent) => boolean) =>
  (stage: Stage, { nth }: AtShard, spring: (player: Player) => void): void =>
    atMoment(stage, nth, isIt, spring);

/** The last message on its stream is late, and then the stream breaks. */
export const unheard: Hit = (stage, player, { nth, ms }, strike) => {
  const ways = waysToLeader(stage, player);
  if (ways === undefined || ways.ends.length === 0) return;
  const lateMs = Math.min(ms, 3_000);
  strike(player.host.name, { nth, ms: lateMs });
  for (const end of ways.ends.flatMap((one) => [one, one.peer])) {
    if (end !== undefined) end.arrival = Math.max(end.arrival, stage.now + lateMs + LATER_MS);
  }
  stage.later(lateMs, () => {
    for (const end of ways.ends) breakBoth(stage, end);
  });
};
