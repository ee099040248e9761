// Types of actors that are removed and added at run time.
import type { Process } from "../../src/world/process.ts";
import { KIND } from "../../src/world/timeline.ts";
import { applicationOf } from "../application.ts";
import type { Player, Stage } from "../stage.ts";
import { fault, hostNames, lengths, some, times } from "./fault.ts";
import { isWorking } from "./network/players.ts";

const RETRY_MS = 500;

export const typesLeave = fault<{ hosts: string[]; all: boolean; ms: number }>({
  name: "types leave",
  summary: "hosts run some of their types no longer, or nothing at all, and take them up again later",
  draw(chance, plan) {
    const ms = lengths(chance, 10, 20_000);
    return times(chance, plan, 2, () => {
      const hosts = chance.chance(0.3) ? hostNames(plan) : some(chance, hostNames(plan));
      return { hosts, all: chance.chance(0.6), ms: ms() };
    });
  },
  happen(stage, { hosts, all, ms }, strike) {
    for (const host of hosts) {
      const player = stage.player(host);
      if (!isWorking(player) || player.types.length === 0) continue;
      const going = all ? player.types : player.types.slice(0, 1);
      strike(host, { types: going.join() });
      takeAway(stage, player, going, ms);
    }
  },
});

/** The host removes these types, and adds them again after `ms`. */
export function takeAway(stage: Stage, player: Player, types: readonly string[], ms: number): void {
  player.types = player.types.filter((type) => !types.includes(type));
  const leaving = leave(stage, player, types);
  stage.undoAfter(ms, () => {
    player.types = player.planned.types;
    bringBack(stage, player, leaving);
  });
}

interface Leaving {
  readonly process: Process;
  readonly types: readonly string[];
  isOver: boolean;
}

function leave(stage: Stage, player: Player, types: readonly string[]): Leaving {
  const { app, process } = player.host;
  const leaving = { process: process!, types, isOver: false };
  const left = types.map((type) => app.remove(classOf(stage, player, type)));
  void Promise.allSettled(left).then(() => {
    leaving.isOver = true;
  });
  return leaving;
}

const classOf = (stage: Stage, { host, planned }: Player, type: string): ReturnType<typeof applicationOf>[number] =>
  applicationOf(stage, { process: host.process }, planned.namespace, [type])[0]!;

/**
 * A process that starts from now on has all types. A running one gets requests to add them until it has them.
 */
function bringBack(stage: Stage, player: Player, leaving: Leaving): void {
  const { process } = player.host;
  if (process === undefined || player.types !== player.planned.types) return;
  const again = (): void => {
    const at = stage.now + RETRY_MS;
    stage.world.timeline.plan(at, KIND.script, undefined, () => bringBack(stage, player, leaving));
  };
  const isLeft = process === leaving.process;
  if (!isWorking(player) || (isLeft && !leaving.isOver)) {
    again();
    return;
  }
  const { app } = player.host;
  const has = new Set(app.host.types().map(({ type }) => type));
  const back = player.types.map(async (type) => {
    const actor = classOf(stage, player, type);
    // The removal failed and is retried, because a present type cannot be added.
    if (isLeft && has.has(type) && leaving.types.includes(type)) await app.remove(actor);
    else if (has.has(type)) return;
    await app.add(actor);
  });
  Promise.all(back).catch(again);
}
