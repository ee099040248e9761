// Faults while a shard moves: while hosts buffer its calls, while its home stops its actors, and at its next
// home.
import type { VirtualControlMessage } from "../../../src/world/network/virtual-control.ts";
import type { Player, Stage } from "../../stage.ts";
import { atNthMessage, fromHost, fromLeader, receiver, sender } from "../network/at-message.ts";
import { isWorking } from "../network/players.ts";
import { type AtShard, atMessage, atShard, diesOrHangs, unheard } from "./at-shard.ts";

// ——— Buffering of calls.

/** The home in the store, when its hand-off begins. */
function atBeginHandOff(stage: Stage, { nth }: AtShard, spring: (player: Player) => void): void {
  atNthMessage(stage, nth, fromLeader("beginHandOff"), async (_from, _to, sent) => {
    if (sent.about !== "scheduler" || sent.message.kind !== "beginHandOff") return;
    const { type, shard } = sent.message;
    const { shards, coordination } = stage.world.database.truth;
    const [rows, members] = await Promise.all([shards.homes(), coordination.members()]);
    const homes = rows.filter((row) => row.type === type && row.shard === shard);
    const addresses = members.filter(({ incarnation }) => homes.some((row) => row.incarnation === incarnation));
    const isHome = ({ host }: Player): boolean =>
      addresses.some(({ address }) => host.process?.app?.host.status().address === address);
    const home = stage.players.find((player) => isWorking(player) && isHome(player));
    if (home !== undefined && stage.isChaos) spring(home);
  });
}

const atAck = atMessage(fromHost("beginHandOffAck"), receiver);
export const [leaderDiesAtBuffering, leaderHangsAtBuffering] = diesOrHangs(
  "leader dies while calls are kept back",
  "the leader ends when some hosts have acknowledged that they buffer calls for a shard",
  atAck,
);
export const [homeDiesAtBuffering, homeHangsAtBuffering] = diesOrHangs(
  "home dies while calls are kept back",
  "the home of a shard ends when all hosts are ordered to buffer calls for it",
  atBeginHandOff,
);
export const beginHandOffUnheard = atShard(
  "gathering unheard",
  "the order to buffer calls is lost, because the stream of the host breaks",
  atMessage(fromLeader("beginHandOff"), receiver),
  unheard,
);
export const [hostDiesAtBuffering, hostHangsAtBuffering] = diesOrHangs(
  "host dies while calls are kept back",
  "a host ends when it is ordered to buffer calls for a shard",
  atMessage(fromLeader("beginHandOff"), receiver),
);

// ——— Hand-off.

const atHandOff = atMessage(fromLeader("handOff"), receiver);
const atStopped = atMessage(fromHost("shardStopped"), sender);
export const [homeDiesAtHandOff, homeHangsAtHandOff] = diesOrHangs(
  "home dies at stop",
  "the home of a shard ends when it is ordered to hand it off",
  atHandOff,
);
export const handOffUnheard = atShard(
  "stop unheard",
  "the order to hand off a shard is lost, because the stream of its home breaks",
  atHandOff,
  unheard,
);
export const [leaderDiesAtHandOff, leaderHangsAtHandOff] = diesOrHangs(
  "leader dies at stop",
  "the leader ends when it has ordered the home of a shard to hand it off",
  atMessage(fromLeader("handOff"), sender),
);
export const [homeDiesStopped, homeHangsStopped] = diesOrHangs(
  "home dies with a shard stopped",
  "the home of a shard ends when it has stopped the shard, before any other process knows it",
  atStopped,
);
export const stoppedUnheard = atShard(
  "stopped unheard",
  "the report that a shard is stopped is lost, because the stream breaks",
  atStopped,
  unheard,
);
export const [leaderDiesAtStopped, leaderHangsAtStopped] = diesOrHangs(
  "leader dies with a shard stopped",
  "the leader ends when it gets the report that a shard is stopped",
  atMessage(fromHost("shardStopped"), receiver),
);

/**
 * The next home: when the previous one gets the order to hand off, or when that has completed and the next
 * home prefetches actors.
 */
const nextHome =
  (isLate: boolean) =>
  (stage: Stage, { nth }: AtShard, spring: (player: Player) => void): void => {
    const next = new Map<string, string>();
    const isIt = (sent: VirtualControlMessage): boolean => {
      if (sent.about === "scheduler" && sent.message.kind === "handOff") {
        const { type, shard, to } = sent.message;
        if (to !== undefined) next.set(`${type} ${shard}`, to.address);
        return !isLate && to !== undefined;
      }
      if (!isLate || sent.about !== "host" || sent.message.kind !== "shardStopped") return false;
      return next.has(`${sent.message.type} ${sent.message.shard}`);
    };
    atNthMessage(stage, nth, isIt, (_from, _to, sent) => {
      const { type, shard } = (sent as { message: { type: string; shard: number } }).message;
      const address = next.get(`${type} ${shard}`);
      const home = stage.players.find(({ host }) => host.process?.app?.host.status().address === address);
      if (home !== undefined && isWorking(home)) spring(home);
    });
  };
export const [nextHomeDiesAtHandOff, nextHomeHangsAtHandOff] = diesOrHangs(
  "next home dies at stop",
  "the next home of a shard ends when the previous one is ordered to hand it off",
  nextHome(false),
);
export const [nextHomeDiesAtStopped, nextHomeHangsAtStopped] = diesOrHangs(
  "next home dies with a shard stopped",
  "the next home of a shard ends when the previous one has stopped the shard, before the new home is stored",
  nextHome(true),
);
