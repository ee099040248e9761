// Faults while a shard gets its first home: at the request, at the write, and at the announcement.
import type { VirtualControlMessage } from "../../../src/world/network/virtual-control.ts";
import type { Player, Stage } from "../../stage.ts";
import { asks, dies, done } from "../at-work.ts";
import { atNthMessage, fromHost, fromLeader, receiver, sender } from "../network/at-message.ts";
import { type AtShard, atEvent, atMessage, atShard, diesOrHangs, unheard } from "./at-shard.ts";

/** The host gets the message that it is the home itself. */
const isOwnHome =
  (stage: Stage) =>
  (sent: VirtualControlMessage, to: number): boolean => {
    if (sent.about !== "scheduler" || sent.message.kind !== "shardHomes") return false;
    const address = stage.players.find(({ host }) => host.place === to)?.host.process?.app?.host.status().address;
    return sent.message.homes.some(({ host }) => host !== undefined && host.address === address);
  };

const atRequest = atMessage(fromHost("getShardHomes"), receiver);
export const [leaderDiesAtRequest, leaderHangsAtRequest] = diesOrHangs(
  "leader dies at ask",
  "the leader ends when it gets a request for the home of a shard",
  atRequest,
);
export const requesterDies = atShard(
  "asker dies",
  "a host ends when it has requested the home of a shard",
  atMessage(fromHost("getShardHomes"), sender),
  dies,
);
export const [leaderDiesBeforePersist, leaderHangsBeforePersist] = diesOrHangs(
  "leader dies before a home is noted",
  "the leader ends when it has chosen homes, before it stores them",
  atEvent(asks("note homes")),
);
export const [leaderDiesAfterPersist, leaderHangsAfterPersist] = diesOrHangs(
  "leader dies with a home noted",
  "the leader ends when homes are stored, before it notifies any host",
  atEvent(done("note homes")),
);
const atOwnHome = (stage: Stage, planned: AtShard, spring: (player: Player) => void): void =>
  atNthMessage(stage, planned.nth, isOwnHome(stage), (_from, to) => spring(to));
export const [newHomeDies, newHomeHangs] = diesOrHangs(
  "new home dies",
  "a host ends when it learns that it is the home of a shard, before its first call",
  atOwnHome,
);
export const homeUnheard = atShard(
  "home unheard",
  "the announcement of a home is lost, because the stream of the host breaks",
  atMessage(fromLeader("shardHomes"), receiver),
  unheard,
);
