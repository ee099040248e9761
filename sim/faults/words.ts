// Troubles at the moment at which a host or the leader says something: who is found then, and what happens to them. Several families share
// them. The leader hears the host in its own process without a network, and is not found when it speaks to itself.
import type { Said } from "../../src/world/virtual-control.ts";
import type { Player, Stage, TrapEvent } from "../stage.ts";
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

/** When something of this kind is said for the n-th time: who says it, to whom, and what. */
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
