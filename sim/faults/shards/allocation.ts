// Faults while a shard gets its first home: at the request, at the write, and at the announcement.
import type { VirtualControlMessage } from "../../../src/world/network/virtual-control.ts";
import type { Player, Stage } from "../../stage.ts";
import { asks, dies, done, hangs } from "../at-work.ts";
import { atNthMessage, fromHost, fromLeader, receiver, sender } from "../network/at-message.ts";
import { type AtShard, atEvent, atMessage, atShard, unheard } from "./at-shard.ts";

/** The host gets the message that it is the home itself. */
const isOwnHome =
  (stage: Stage) =>
  (sent: VirtualControlMessage, to: number): boolean => {
    if (sent.about !== "scheduler" || sent.message.kind !== "shardHomes") return false;
    const address = stage.players.find(({ host }) => host.place === to)?.host.process?.app?.host.status().address;
    return sent.message.homes.some(({ host }) => host !== undefined && host.address === address);
  };

const atRequest = atMessage(fromHost("getShardHomes"), receiver);
export const leaderDiesAtRequest = atShard(
  "leader dies at ask",
  "the leader ends when it gets a request for the home of a shard",
  atRequest,
  dies,
);
export const leaderHangsAtRequest = atShard(
  "leader hangs at ask",
  "the leader hangs when it gets a request for the home of a shard",
  atRequest,
  hangs,
);
export const requesterDies = atShard(
  "asker dies",
  "a host ends when it has requested the home of a shard",
  atMessage(fromHost("getShardHomes"), sender),
  dies,
);
export const leaderDiesBeforePersist = atShard(
  "leader dies before a home is noted",
  "the leader ends when it has chosen homes, before it stores them",
  atEvent(asks("note homes")),
  dies,
);
export const leaderHangsBeforePersist = atShard(
  "leader hangs before a home is noted",
  "the leader hangs when it has chosen homes, before it stores them",
  atEvent(asks("note homes")),
  hangs,
);
export const leaderDiesAfterPersist = atShard(
  "leader dies with a home noted",
  "the leader ends when homes are stored, before it notifies any host",
  atEvent(done("note homes")),
  dies,
);
export const leaderHangsAfterPersist = atShard(
  "leader hangs with a home noted",
  "the leader hangs when homes are stored, before it notifies any host",
  atEvent(done("note homes")),
  hangs,
);
const atOwnHome = (stage: Stage, planned: AtShard, spring: (player: Player) => void): void =>
  atNthMessage(stage, planned.nth, isOwnHome(stage), (_from, to) => spring(to));
export const newHomeDies = atShard(
  "new home dies",
  "a host ends when it learns that it is the home of a shard, before its first call",
  atOwnHome,
  dies,
);
export const newHomeHangs = atShard(
  "new home hangs",
  "a host hangs when it learns that it is the home of a shard, before its first call",
  atOwnHome,
  hangs,
);
export const homeUnheard = atShard(
  "home unheard",
  "the announcement of a home is lost, because the stream of the host breaks",
  atMessage(fromLeader("shardHomes"), receiver),
  unheard,
);
