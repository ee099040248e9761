// Checks that a shard gets the home that the custom strategy returns. The leader does not decide by itself
// before the timeout of the strategy. Responses about another shard, or to an earlier request, do not count.
import type { VirtualControlMessage } from "../../../src/world/network/virtual-control.ts";
import type { StrategyCall } from "../../observer.ts";
import type { CheckerKind } from "../checker.ts";
import { hostOf, shardKey, troubleEnds } from "../looks.ts";

/** Timeout of a strategy, with some time for messages. */
const PATIENCE_MS = 5_000;
const IN_TIME_MS = 4_000;
/**
 * No fault occurred for this long. Later consequences are visible as events: the leader removes a silent
 * host, or another leader takes over.
 */
const QUIET_MS = 3_000;
const CHANGES = /^host\.|^leader\.(?:elected|stepped-down)$/;
const NOT_FOLLOWED = "strategy.failed";
/** Time between two requests of which one waits for the other. */
const NEXT_MS = 500;

const isLeaving = (sent: VirtualControlMessage): boolean =>
  sent.about === "host" && (sent.message.kind === "leaveShards" || sent.message.kind === "types");

export const strategyFollowed: CheckerKind = {
  name: "strategy followed",
  rule: "while the set of hosts does not change, a shard gets the home that the custom strategy returns in time, and no other",
  make(stage, report) {
    if (!Object.values(stage.plan.sharded ?? {}).some(({ strategy }) => typeof strategy === "object")) return {};
    let troubledAt = Number.NEGATIVE_INFINITY;
    const troubled = (): void => {
      troubledAt = Math.max(troubledAt, stage.now);
    };
    /** Requests by namespace and type, the latest last. */
    const asked = new Map<string, StrategyCall[]>();
    /** The request since the last stored home, by shard. */
    const open = new Map<string, StrategyCall>();

    /** A leader that is about to stop notifies itself, without a visible message. */
    const isAnyStopping = (): boolean =>
      stage.players.some(({ host: { process } }) => {
        return process !== undefined && hostOf(process)?.status().problem === "this process is stopping";
      });

    stage.world.database.watchers.push({
      notedHomes: (_station, _term, changes, isCurrent) => {
        if (!isCurrent) return;
        for (const { namespace, type, shard, incarnation } of changes) {
          const key = shardKey(namespace, type, shard);
          const call = open.get(key);
          if (call === undefined || incarnation === undefined) continue;
          open.delete(key);
          const waitedMs = stage.now - waitsSince(call, asked.get(`${namespace}/${type}`) ?? []);
          if (waitedMs > IN_TIME_MS || stage.now - troubledAt < QUIET_MS + waitedMs || isAnyStopping()) continue;
          if (call.endedAt === undefined)
            report(`${key} lives at ${incarnation}, and its strategy has not answered yet`);
          else if (call.answer !== undefined && call.answer !== incarnation)
            report(`${key} lives at ${incarnation}, and its strategy has answered ${call.answer}`);
        }
      },
    });
    return {
      started: troubled,
      gone: troubled,
      slept: troubled,
      // A host that is leaving, or removes a type, is no home from then on, whichever strategy returned it.
      // The orders show when a leader has left.
      sent(_process, _to, message) {
        const sent = message as VirtualControlMessage;
        if (sent.about === "scheduler" ? sent.message.kind === "order" : isLeaving(sent)) troubled();
      },
      logged(line) {
        // A strategy that could not be followed is no excuse, unless no host could answer.
        if (line.event === NOT_FOLLOWED && line.fields?.fault !== "nobody to ask") return;
        if (line.level === "warn" || CHANGES.test(line.event)) troubled();
        troubledAt = Math.max(troubledAt, troubleEnds(line) ?? troubledAt);
      },
      strategyCalled(call) {
        const { namespace, type, shard } = call;
        if (shard === undefined) return;
        const key = `${namespace}/${type}`;
        const own = (asked.get(key) ?? []).filter(({ endedAt = stage.now }) => stage.now - endedAt < PATIENCE_MS * 2);
        asked.set(key, [...own, call]);
        open.set(shardKey(namespace, type, shard), call);
      },
    };
  },
};

/**
 * Since when the leader may have waited: requests for shards queue while a strategy decides. A host asks its
 * strategy about the shards of one request in sequence, even after the leader has given the request up.
 * `earlier`: requests for the same type, the latest last.
 */
function waitsSince({ askedAt, process }: StrategyCall, earlier: readonly StrategyCall[]): number {
  let since = askedAt;
  for (const other of earlier.toReversed()) {
    const endedAt = other.endedAt ?? Number.POSITIVE_INFINITY;
    const isSameRequest = other.process === process && endedAt === since;
    const until = isSameRequest ? endedAt : Math.min(endedAt, other.askedAt + PATIENCE_MS);
    if (other.askedAt < since && until >= since - NEXT_MS) since = other.askedAt;
  }
  return since;
}
