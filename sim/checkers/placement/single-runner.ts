// Checks that at most one activation of an actor is in memory in the cluster. A host detects the end of its
// lease by its own clocks. The rule therefore holds only while a host does not sleep through the end of its
// lease and its clocks are accurate enough. Two parts hold even after a sleep: no turn begins in an
// activation after a newer one began elsewhere, and no turn that ends then succeeds. A process checks its
// clocks first when it resumes.
import type { Life } from "../../observer.ts";
import type { CheckerKind } from "../checker.ts";
import { Excuses } from "../excuses.ts";
import { doorOf, isStateful, labelOf, nameOf, timesOf } from "../looks.ts";

/** Share of a lease: the margin is 15 %, from the release by the old host to the start on the new one. */
const SLEEP = 0.1;

/** Renewals of a lease in its duration. */
const RENEWALS = 5;

export const singleRunner: CheckerKind = {
  name: "single runner",
  rule: "at most one activation of an actor is in memory, unless its process slept through the end of its lease",
  make(stage, report) {
    const { leaseMs, failover } = timesOf(stage.plan);
    const excuses = new Excuses(stage, leaseMs * 2);
    /**
     * Activations by actor and process that have not reported their end. An activation that is cut off does
     * not report it.
     */
    const holders = new Map<string, Map<number, Life>>();
    const newest = new Map<string, Life>();
    let order = 0;
    const orders = new Map<number, number>();
    /** Activations by number that began while the clocks of their process erred. */
    const begunBySlowClock = new Set<number>();
    /** Operations whose turn ended after the actor became active elsewhere. */
    const late = new Map<string, string>();

    const clocksErr = (life: Life): boolean =>
      failover === "fast" || excuses.isSlow(life.process) || excuses.somebodyIsFast || excuses.storeJumped;

    const forget = (life: Life): void => {
      const ofActor = holders.get(nameOf(life));
      if (ofActor?.get(life.process.number) === life) ofActor.delete(life.process.number);
    };

    /**
     * True if an activation of the actor is still in that process. An activation in memory without an epoch
     * does not count.
     */
    async function isHeld({ process, type, id }: Life): Promise<boolean> {
      const page = await doorOf(process)?.list({ active: true, type, prefix: id, limit: 1_000 });
      const found = page?.actors.find((actor) => actor.id === id);
      return found !== undefined && (!isStateful(type) || found.epoch !== undefined);
    }

    function alone(life: Life): void {
      for (const older of holders.get(nameOf(life))?.values() ?? []) {
        if (older.process === life.process) continue;
        if (older.process.hasEnded) {
          forget(older);
          continue;
        }
        const slept = excuses.overslept(older.process, leaseMs * SLEEP, leaseMs / RENEWALS);
        // Or the newer process has slept while its wall clock was set back: it does not know that its lease
        // had ended before.
        const isExcused = slept || clocksErr(older) || excuses.isSlow(life.process);
        void isHeld(older).then((held) => {
          if (!held) forget(older);
          else if (isExcused) stage.excuse("single runner");
          else {
            const where = `process ${life.process.number} while it lives at process ${older.process.number}`;
            report(`${labelOf(life)} is active at ${where}`);
          }
        });
      }
    }

    /**
     * Place of a newer activation in another process, if there is one. `isExcused`: clocks err, or erred when
     * the newer activation began: its process may have slept while its wall clock was set back, as in
     * `alone`.
     */
    function superseded(life: Life): { readonly where: string; readonly isExcused: boolean } | undefined {
      const latest = newest.get(nameOf(life));
      if (latest === undefined || latest.process === life.process) return undefined;
      if ((orders.get(latest.number) ?? 0) <= (orders.get(life.number) ?? 0)) return undefined;
      const where = `process ${life.process.number} after it has come to life at process ${latest.process.number}`;
      return { where, isExcused: clocksErr(life) || begunBySlowClock.has(latest.number) };
    }

    return {
      slept: (process, ms) => excuses.slept(process, ms),
      gone: (host, process) => excuses.gone(host, process),
      stepped: () => excuses.stepped(),
      activated(life) {
        const name = nameOf(life);
        const ofActor = holders.get(name) ?? new Map<number, Life>();
        holders.set(name, ofActor);
        ofActor.set(life.process.number, life);
        newest.set(name, life);
        orders.set(life.number, ++order);
        if (excuses.isSlow(life.process)) begunBySlowClock.add(life.number);
        alone(life);
      },
      deactivated: forget,
      turnBegan({ life, op }) {
        const newer = superseded(life);
        if (newer?.isExcused === true) stage.excuse("single runner");
        else if (newer !== undefined) report(`${labelOf(life)} begins ${op} at ${newer.where}`);
        alone(life);
      },
      turnEnded({ life, op }) {
        const newer = superseded(life);
        if (newer?.isExcused === false) late.set(op, newer.where);
      },
      answered({ token, outcome, call }) {
        const where = late.get(token);
        if (where === undefined || outcome === undefined || "error" in outcome) return;
        report(`${token} on ${labelOf(call)} was answered by a turn that ended at ${where}`);
      },
    };
  },
};
