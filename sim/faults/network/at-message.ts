// Faults at the moment of a message between a host and the leader: the affected process, and the effect.
// Several families share them. The leader and the host in its own process exchange messages without the
// network, so these do not trigger a fault.
import type { VirtualControlMessage } from "../../../src/world/network/virtual-control.ts";
import type { Player, Stage, TrapEvent } from "../../stage.ts";
import { playerOf } from "./players.ts";

export type SentByHost = Extract<VirtualControlMessage, { about: "host" }>["message"];
export type SentByLeader = Extract<VirtualControlMessage, { about: "scheduler" }>["message"];

export const fromHost =
  (kind: SentByHost["kind"]) =>
  ({ about, message }: VirtualControlMessage & { message?: SentByHost | SentByLeader }): boolean =>
    about === "host" && message?.kind === kind;

export const fromLeader =
  (kind: SentByLeader["kind"]) =>
  ({ about, message }: VirtualControlMessage & { message?: SentByHost | SentByLeader }): boolean =>
    about === "scheduler" && message?.kind === kind;

/** At the n-th message of this kind: its sender, its receiver and its contents. */
export function atNthMessage(
  stage: Stage,
  nth: number,
  isIt: (sent: VirtualControlMessage, to: number, from: number) => boolean,
  spring: (from: Player, to: Player, sent: VirtualControlMessage) => void,
): void {
  let seen = 0;
  let met: readonly [Player, Player, VirtualControlMessage] | undefined;
  const isMet = (event: TrapEvent): boolean => {
    if (event.kind !== "sent" || event.process.hasEnded) return false;
    const sent = event.message as VirtualControlMessage;
    if (!isIt(sent, event.to, event.process.place) || ++seen < nth) return false;
    const [from, to] = [playerOf(stage, event.process), stage.players.find(({ host }) => host.place === event.to)];
    if (from === undefined || to?.host.process === undefined) return false;
    met = [from, to, sent];
    return true;
  };
  stage.trap(isMet, () => spring(...met!));
}

export const sender = (from: Player): Player => from;
export const receiver = (_from: Player, to: Player): Player => to;
