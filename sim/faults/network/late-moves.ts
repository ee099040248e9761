// Messages about one move of a shard that arrive while a later move of the same shard is under way.
import type { VirtualControlMessage } from "../../../src/world/network/virtual-control.ts";
import { shardIn } from "../../shard-extractors.ts";
import type { Player, Stage } from "../../stage.ts";
import { fault, lengths, type Strike, times } from "../fault.ts";
import { callersOf, callShards, drawTargets, homesOf, type Target } from "../shards/at-shard.ts";
import { steer } from "../shards/operators.ts";
import { atNthMessage, fromHost } from "./at-message.ts";
import { holdBack, LONGEST_LATE_MS, lateFor, resetAt } from "./late-messages.ts";
import { waysToLeader } from "./streams.ts";

const KINDS = ["beginHandOffAck", "shardStopped", "shardStopped", "shardStarted", "getShardHomes"] as const;
/** Most moves of one shard in a row. */
const MOST_MOVES = 12;

interface LateMove {
  readonly kind: (typeof KINDS)[number];
  readonly nth: number;
  readonly target: Target;
  /** The hosts to which the shard moves, one after another. */
  readonly places: readonly string[];
  readonly everyMs: number;
  /** Duration of a turn of the shard's actor, so that a hand-off takes time as well. */
  readonly slowMs: number;
  readonly lateMs: number;
  /** From the message to the reset of its connection: the host then repeats the message on a new one. */
  readonly waitMs: number;
}

function delay(stage: Stage, from: Player, { kind, waitMs, lateMs: drawnMs }: LateMove, strike: Strike): void {
  const ways = waysToLeader(stage, from);
  const lateMs = lateFor(stage, waitMs + drawnMs);
  if (ways === undefined || lateMs === undefined) return;
  strike(from.host.name, { kind, waitMs, lateMs });
  holdBack(stage, ways.ends, lateMs);
  stage.later(waitMs, () => {
    for (const end of ways.ends) resetAt(stage, end);
  });
}

export const lateMove = fault<LateMove>({
  name: "late messages of a move",
  summary: "a message about a move of a shard arrives during a later move of the same shard",
  draw(chance, plan) {
    const { names, types } = homesOf(plan);
    if (types.length === 0 || names.length === 0 || callersOf(plan).length === 0) return [];
    const [everyMs, slowMs, waitMs] = [lengths(chance, 50, 3_000), lengths(chance, 1, 3_000), lengths(chance, 1, 500)];
    const [lateMs, nth] = [lengths(chance, 300, LONGEST_LATE_MS), lengths(chance, 1, 4)];
    return times(chance, plan, 3, () => {
      const [target] = drawTargets(chance, plan, 1);
      const places = Array.from({ length: 3 + chance.below(MOST_MOVES - 2) }, () => chance.pick(names));
      return {
        kind: chance.pick(KINDS),
        nth: nth(),
        target: target!,
        places,
        everyMs: everyMs(),
        slowMs: slowMs(),
        lateMs: lateMs(),
        waitMs: waitMs(),
      };
    });
  },
  happen(stage, planned, strike) {
    const { kind, nth, target, places, everyMs, slowMs, at } = planned;
    const { from, type, id } = target;
    const shard = shardIn(stage.plan.sharded![type]!, id);
    const isIt = (sent: VirtualControlMessage): boolean => {
      if (!fromHost(kind)(sent)) return false;
      const { message } = sent as { message: { type: string; shard?: number; shards?: readonly number[] } };
      return message.type === type && (message.shard === shard || message.shards?.includes(shard) === true);
    };
    atNthMessage(stage, nth, isIt, (speaker) => delay(stage, speaker, planned, strike));
    for (const [i, host] of places.entries()) {
      stage.later(i * everyMs, () => {
        callShards(stage, [target], `late-move-${at}-${i}`, { slowMs });
        void steer(stage, from, type, { kind: "move", shard, host });
      });
    }
  },
});
