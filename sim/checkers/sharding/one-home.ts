// Checks that the actors of a shard are in memory on one host. A new home begins when the old one has
// confirmed that nothing is left, or its lease has ended. This is stricter than one host per actor: a shard
// has one home for all its actors.
import type { Life } from "../../observer.ts";
import type { CheckerKind } from "../checker.ts";
import { Excuses } from "../excuses.ts";
import { hostOf, labelOf, shardKeyOf, timesOf } from "../looks.ts";

/** Share of a lease: the margin is 15 %, from the release by the old host to the start on the new one. */
const SLEEP = 0.1;
/** Renewals of a lease in its duration. */
const RENEWALS = 5;

export const oneHome: CheckerKind = {
  name: "one home",
  rule: "actors of a shard are in memory on one host at a time, unless one of them slept through the end of its lease",
  make(stage, report) {
    if (stage.plan.sharded === undefined) return {};
    const { leaseMs, failover } = timesOf(stage.plan);
    const excuses = new Excuses(stage, leaseMs * 2);
    /**
     * Activations by shard that have not reported their end. An activation that is cut off does not report
     * it.
     */
    const holders = new Map<string, Set<Life>>();

    const isExcused = ({ process }: Life): boolean =>
      failover === "fast" ||
      excuses.overslept(process, leaseMs * SLEEP, leaseMs / RENEWALS) ||
      excuses.isSlow(process) ||
      excuses.isAnyFast ||
      excuses.storeJumped;

    const forget = (life: Life): void => {
      holders.get(shardKeyOf(stage.plan, life) ?? "")?.delete(life);
    };

    /** An activation in memory without an epoch does not count. */
    async function isHeld({ process, type, id }: Life): Promise<boolean> {
      const page = await hostOf(process)?.list({ active: true, type, prefix: id, limit: 1_000 });
      return page?.actors.some((actor) => actor.id === id && actor.epoch !== undefined) === true;
    }

    function alone(life: Life, shard: string): void {
      for (const other of holders.get(shard) ?? []) {
        if (other.process === life.process) continue;
        if (other.process.hasEnded) {
          forget(other);
          continue;
        }
        // Or this process has slept while its wall clock was set back: it does not know that its lease has
        // ended.
        const excused = isExcused(other) || excuses.isSlow(life.process);
        void isHeld(other).then((held) => {
          if (!held) forget(other);
          else if (excused) stage.excuse("one home");
          else {
            const there = `while ${labelOf(other)} is at process ${other.process.number}`;
            report(`${labelOf(life)} of ${shard} lives at process ${life.process.number} ${there}`);
          }
        });
      }
    }

    return {
      slept: (process, ms) => excuses.slept(process, ms),
      gone: (host, process) => excuses.gone(host, process),
      stepped: () => excuses.stepped(),
      activated(life) {
        const shard = shardKeyOf(stage.plan, life);
        if (shard === undefined) return;
        const own = holders.get(shard) ?? new Set<Life>();
        holders.set(shard, own.add(life));
        alone(life, shard);
      },
      deactivated: forget,
      turnBegan({ life }) {
        const shard = shardKeyOf(stage.plan, life);
        if (shard !== undefined) alone(life, shard);
      },
    };
  },
};
