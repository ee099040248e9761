// Requests of operators and applications about shards, in the middle of everything else.
import type { Prng } from "../../../src/kernel/prng.ts";
import type { ShardSteering } from "../../../src/ports/shard-admin.ts";
import { KIND } from "../../../src/world/timeline.ts";
import type { Plan } from "../../plan.ts";
import type { Stage } from "../../stage.ts";
import { fault, lengths, times } from "../fault.ts";
import { isWorking } from "../network/players.ts";
import { BACK_MS, callersOf, homesOf } from "./at-shard.ts";

interface Steering {
  readonly from: string;
  readonly type: string;
  readonly places: readonly { readonly shard: number; readonly host: string }[];
}

function drawSteering(chance: Prng, plan: Plan, types: readonly string[]): Steering {
  const type = chance.pick(types);
  const { names } = homesOf(plan);
  const places = Array.from({ length: 1 + chance.below(5) }, () => {
    return { shard: chance.below(plan.sharded![type]!.shards), host: chance.pick(names) };
  });
  return { from: chance.pick(callersOf(plan)), type, places };
}

/** An operator gets an error when the request fails, and may retry it. */
export async function steer(stage: Stage, from: string, type: string, how: ShardSteering): Promise<boolean> {
  const player = stage.player(from);
  if (!isWorking(player)) return false;
  return player.host.app.host.steerShards(type, how).then(
    () => true,
    () => false,
  );
}

export const movedByHand = fault<Steering>({
  name: "shards moved by hand",
  summary: "an operator moves some shards to other hosts, all at once",
  draw(chance, plan) {
    const { names, types } = homesOf(plan);
    if (types.length === 0 || names.length === 0 || callersOf(plan).length === 0) return [];
    return times(chance, plan, 5, () => drawSteering(chance, plan, types));
  },
  happen(stage, { from, type, places }, strike) {
    if (!isWorking(stage.player(from))) return;
    strike(from, { type, shards: places.map(({ shard }) => shard).join() });
    for (const { shard, host } of places) void steer(stage, from, type, { kind: "move", shard, host });
  },
});

export const assignedElsewhere = fault<Steering>({
  name: "shards told elsewhere",
  summary: "an application assigns some shards to other hosts",
  draw(chance, plan) {
    const { names, types } = homesOf(plan);
    const external = types.filter((type) => plan.sharded![type]!.strategy === "external");
    if (external.length === 0 || names.length === 0 || callersOf(plan).length === 0) return [];
    return times(chance, plan, 5, () => drawSteering(chance, plan, external));
  },
  happen(stage, { from, type, places }, strike) {
    if (!isWorking(stage.player(from))) return;
    strike(from, { type, shards: places.map(({ shard }) => shard).join() });
    void steer(stage, from, type, { kind: "allocate", places });
  },
});

export const balancePaused = fault<{ from: string; type: string; ms: number }>({
  name: "balancing paused",
  summary: "an operator pauses rebalancing for a while, although hosts come and go",
  draw(chance, plan) {
    const { types } = homesOf(plan);
    if (types.length === 0 || callersOf(plan).length === 0) return [];
    const ms = lengths(chance, 500, 20_000);
    return times(chance, plan, 2, () => ({ from: chance.pick(callersOf(plan)), type: chance.pick(types), ms: ms() }));
  },
  happen(stage, { from, type, ms }, strike) {
    if (!isWorking(stage.player(from))) return;
    strike(from, { type, ms });
    void steer(stage, from, type, { kind: "pause", paused: true });
    // Also after healing: no other process would resume it.
    const resume = async (): Promise<void> => {
      if (await steer(stage, from, type, { kind: "pause", paused: false })) return;
      stage.world.timeline.plan(stage.now + BACK_MS, KIND.script, undefined, () => void resume());
    };
    stage.undoAfter(ms, () => void resume());
  },
});
