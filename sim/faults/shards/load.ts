// Faults of load on shards: endless turns, hosts that change places, and a busy shard that moves.

import { shardIn } from "../../shard-extractors.ts";
import type { Player, Stage } from "../../stage.ts";
import { fault, lengths, type Strike, some, times } from "../fault.ts";
import { isWorking, stopAndRestart } from "../network/players.ts";
import { BACK_MS, CALL_MS, callersOf, callShards, drawTargets, homesOf, type Target } from "./at-shard.ts";

export const endlessTurn = fault<{ targets: Target[]; leaver: string; leaveMs: number; ms: number }>({
  name: "turn without end",
  summary: "turns of sharded actors take longer than the hand-off timeout, and their hosts are stopped",
  draw(chance, plan) {
    const { names, types } = homesOf(plan);
    if (types.length === 0 || names.length === 0 || callersOf(plan).length === 0) return [];
    const [ms, leaveMs] = [lengths(chance, 500, 30_000), lengths(chance, 1, 2_000)];
    return times(chance, plan, 3, () => {
      return { targets: drawTargets(chance, plan, 8), leaver: chance.pick(names), leaveMs: leaveMs(), ms: ms() };
    });
  },
  happen(stage, { targets, leaver, leaveMs, ms, at }, strike) {
    strike("", { calls: targets.length, ms });
    callShards(stage, targets, `turn-without-end-${at}`, { slowMs: ms }, ms + CALL_MS);
    stage.later(leaveMs, () => stopAndRestart(stage, stage.player(leaver), BACK_MS));
  },
});

export const changePlaces = fault<{ leavers: string[]; rounds: number; ms: number; quietly: boolean }>({
  name: "hosts change places",
  summary: "some hosts of shards leave in the moment in which others come, again and again",
  draw(chance, plan) {
    const { names, types } = homesOf(plan);
    if (types.length === 0 || names.length < 2) return [];
    const ms = lengths(chance, 10, 5_000);
    return times(chance, plan, 2, () => {
      return { leavers: some(chance, names), rounds: 1 + chance.below(5), ms: ms(), quietly: chance.chance(0.3) };
    });
  },
  happen(stage, { leavers, rounds, ms, quietly }, strike) {
    const change = (left: number): void => {
      const here = stage.players.filter(({ planned }) => leavers.includes(planned.name));
      swap(stage, here, left, quietly, strike);
      if (left > 1) stage.later(ms, () => change(left - 1));
    };
    change(rounds);
  },
});

/**
 * Present hosts leave, and absent ones return. The first time every other host leaves, so that some can
 * return the next time.
 */
function swap(stage: Stage, players: readonly Player[], left: number, quietly: boolean, strike: Strike): void {
  const leaving = players.filter((player, i) => isWorking(player) && (i + left) % 2 === 0);
  if (leaving.length > 0) strike("", { leavers: leaving.map(({ host }) => host.name).join(), left });
  for (const player of players) if (!leaving.includes(player)) stage.start(player);
  for (const player of leaving) {
    if (quietly) stage.crash(player, true);
    else stopAndRestart(stage, player, 60_000);
  }
}

/** Calls of many hosts to the actors of one shard, some of them slow, while its home leaves. */
export const busyShard = fault<{ targets: Target[]; leaver: string; spreadMs: number }>({
  name: "busy shard",
  summary: "the actors of one shard are called by many, without a pause, while a host leaves and comes back",
  draw(chance, plan) {
    const { names, types } = homesOf(plan);
    if (types.length === 0 || names.length === 0 || callersOf(plan).length === 0) return [];
    const spreadMs = lengths(chance, 5, 3_000);
    return times(chance, plan, 2, () => {
      const type = chance.pick(types);
      const rule = plan.sharded![type]!;
      const drawn = chance.below(rule.shards);
      const all = Array.from({ length: 400 }, (_, i) => `box-${i}`);
      // With a custom `shardOf`, some shards have no actors.
      const shard = all.some((id) => shardIn(rule, id) === drawn) ? drawn : shardIn(rule, all[0]!);
      const ids = all.filter((id) => shardIn(rule, id) === shard);
      const from = callersOf(plan);
      const targets = Array.from({ length: 10 + chance.below(40) }, () => {
        return { from: chance.pick(from), type, id: chance.pick(ids.slice(0, 4)) };
      });
      return { targets, leaver: chance.pick(names), spreadMs: spreadMs() };
    });
  },
  happen(stage, { targets, leaver, spreadMs, at }, strike) {
    strike("", { calls: targets.length, spreadMs });
    for (const [i, target] of targets.entries()) {
      const how = i % 7 === 3 ? { slowMs: 40 } : {};
      stage.later((spreadMs * i) / targets.length, () => callShards(stage, [target], `busy-${at}-${i}`, how));
    }
    stage.later(spreadMs / 2, () => stopAndRestart(stage, stage.player(leaver), BACK_MS));
  },
});
