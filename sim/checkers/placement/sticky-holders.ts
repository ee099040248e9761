// Checks that one host holds a sticky actor. The host's own record counts, whether or not the actor is in
// memory: a holder may activate it at any moment without a request.
import type { Process } from "../../../src/world/process.ts";
import type { CheckerKind } from "../checker.ts";
import { Excuses } from "../excuses.ts";
import { every, timesOf, upHosts } from "../looks.ts";

const LOOK_MS = 100;
/** Share of a lease: the margin is 15 %, from the release by the old host to the start on the new one. */
const SLEEP = 0.1;
/** Renewals of a lease in its duration. */
const RENEWALS = 5;

export const stickyHolders: CheckerKind = {
  name: "one holder",
  rule: "one host at a time holds a sticky actor, unless one of them slept through the end of its lease",
  make(stage, report) {
    if (stage.plan.sticky === undefined) return {};
    const { leaseMs, failover } = timesOf(stage.plan);
    const excuses = new Excuses(stage, leaseMs * 2);
    const reported = new Set<string>();

    const isExcused = (process: Process): boolean =>
      failover === "fast" ||
      excuses.overslept(process, leaseMs * SLEEP, leaseMs / RENEWALS) ||
      excuses.isSlow(process) ||
      excuses.isAnyFast ||
      excuses.storeJumped;

    async function look(): Promise<void> {
      const holders = new Map<string, Process[]>();
      const all = [...upHosts(stage)].map(async ({ namespace, process, host }) => {
        const { actors } = await host.sticky({ here: true, limit: 1_000 });
        for (const { type, id } of actors) {
          const key = `${namespace}/${type}/${id}`;
          const others = holders.get(key);
          if (others === undefined) holders.set(key, [process]);
          else others.push(process);
        }
      });
      const excused = new Set([...upHosts(stage)].map(({ process }) => process).filter(isExcused));
      await Promise.all(all);
      for (const [key, processes] of holders) {
        if (processes.length < 2 || reported.has(key)) continue;
        if (processes.some((process) => excused.has(process))) {
          stage.excuse("one holder");
          continue;
        }
        reported.add(key);
        report(`${key} is held by the processes ${processes.map(({ number }) => number).join(" and ")}`);
      }
    }

    const lookNowAndThen = every(stage, LOOK_MS, () => void look());
    return {
      slept: (process, ms) => excuses.slept(process, ms),
      gone: (host, process) => excuses.gone(host, process),
      stepped() {
        excuses.stepped();
        lookNowAndThen();
      },
    };
  },
};
