// Faults at the moment of a message between a host and the leader: the affected process, and the effect.
// Several families share them. The leader and the host in its own process exchange messages without the
// network, so these do not trigger a fault.
import type { Said } from "../../../src/world/network/virtual-control.ts";
import type { Player, Stage, TrapEvent } from "../../stage.ts";
import { playerOf } from "./players.ts";

export type HostWord = Extract<Said, { about: "host" }>["message"];
export type LeaderWord = Extract<Said, { about: "scheduler" }>["message"];

export const hostSays =
  (kind: HostWord["kind"]) =>
  ({ about, message }: Said & { message?: HostWord | LeaderWord }): boolean =>
    about === "host" && message?.kind === kind;

export const leaderSays =
  (kind: LeaderWord["kind"]) =>
  ({ about, message }: Said & { message?: HostWord | LeaderWord }): boolean =>
    about === "scheduler" && message?.kind === kind;

/** At the n-th message of this kind: its sender, its receiver and its contents. */
export function atWord(
  stage: Stage,
  nth: number,
  isIt: (said: Said, to: number, from: number) => boolean,
  spring: (from: Player, to: Player, said: Said) => void,
): void {
  let seen = 0;
  let met: readonly [Player, Player, Said] | undefined;
  const isMet = (event: TrapEvent): boolean => {
    if (event.kind !== "sent" || event.process.hasEnded) return false;
    const said = event.message as Said;
    if (!isIt(said, event.to, event.process.place) || ++seen < nth) return false;
    const [from, to] = [playerOf(stage, event.process), stage.players.find(({ host }) => host.place === event.to)];
    if (from === undefined || to?.host.process === undefined) return false;
    met = [from, to, said];
    return true;
  };
  stage.trap(isMet, () => spring(...met!));
}

export const whoSays = (from: Player): Player => from;
export const whoHears = (_from: Player, to: Player): Player => to;
