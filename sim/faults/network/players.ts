// Selects the host of a fault, and removes it and brings it back.
import type { Process } from "../../../src/world/process.ts";
import type { Player, Stage, TrapEvent } from "../../stage.ts";

export type StartHow = Parameters<Stage["start"]> extends [Player, ...infer Rest] ? Rest : never;

const stopping = new WeakSet<Process>();

/** The host is up, awake, and not asked to stop. */
export function isWorking({ host: { process } }: Player): boolean {
  return process?.app !== undefined && process.isAwake && !stopping.has(process);
}

/** The host that considers itself the leader, awake or not. */
export function leaderOf(stage: Stage): Player | undefined {
  return stage.players.find(({ host }) => host.process?.app?.host.status().scheduler?.leads === true);
}

export const playerOf = (stage: Stage, process: Process): Player | undefined =>
  stage.players.find(({ host }) => host.process === process);

export function crashAndRestart(stage: Stage, player: Player, quietly: boolean, ms: number, ...how: StartHow): void {
  stage.crash(player, quietly);
  stage.later(ms, () => stage.start(player, ...how));
}

/** `gone` runs when the host has stopped. If healing has begun by then, the host just starts again. */
export function stopAndThen(stage: Stage, player: Player, gone: () => void): void {
  const { process } = player.host;
  if (process === undefined || !isWorking(player)) return;
  stopping.add(process);
  void stage.stop(player).then(() => (stage.isChaos ? gone() : stage.start(player)));
}

export function stopAndRestart(stage: Stage, player: Player, ms: number, ...how: StartHow): void {
  stopAndThen(stage, player, () => stage.later(ms, () => stage.start(player, ...how)));
}

/** At the n-th event of this kind, in any process. */
export function atMoment(
  stage: Stage,
  nth: number,
  isIt: (event: TrapEvent) => boolean,
  spring: (player: Player) => void,
): void {
  let seen = 0;
  let met: Player | undefined;
  stage.trap(
    (event) => {
      if (event.process.hasEnded || !isIt(event) || ++seen < nth) return false;
      met = playerOf(stage, event.process);
      return met !== undefined;
    },
    () => spring(met!),
  );
}
