// At most one activation of an actor is in memory, wherever. A host finds out by its own clocks that its lease is over, so this
// is promised only while it does not sleep through the end of its lease and its clocks are not too wrong. Without sleep as an
// excuse: no turn begins in an activation after a newer one began elsewhere, and none that ends then is answered with success,
// because whoever wakes up looks at its clocks first.
import type { Life } from "../observer.ts";
import type { CheckerKind } from "./checker.ts";
import { Excuses } from "./excuses.ts";
import { doorOf, isStateful, labelOf, nameOf, timesOf } from "./looks.ts";

/** Of a lease: the margin is 15 %, from where a host has let go to where others may begin. */
const SLEEP = 0.1;

/** How often a host looks at its lease while that lasts. */
const RENEWALS = 5;

export const singleRunner: CheckerKind = {
  name: "single runner",
  rule: "at most one activation of an actor is in memory, unless its process slept through the end of its lease",
  make(stage, report) {
    const { leaseMs, failover } = timesOf(stage.plan);
    const excuses = new Excuses(stage, leaseMs * 2);
    /** By actor, then process: who was not seen to leave. Whoever was cut off leaves without a word. */
    const holders = new Map<string, Map<number, Life>>();
    const newest = new Map<string, Life>();
    let order = 0;
    const orders = new Map<number, number>();
    /** Operations whose turn ended when the actor had come to life elsewhere. */
    const late = new Map<string, string>();

    const clocksErr = (life: Life): boolean =>
      failover === "fast" || excuses.isSlow(life.process) || excuses.somebodyIsFast || excuses.storeJumped;

    const forget = (life: Life): void => {
      const ofActor = holders.get(nameOf(life));
      if (ofActor?.get(life.process.number) === life) ofActor.delete(life.process.number);
    };

    /** Whether an activation of the actor is still in that process. What is in memory without an epoch has no life. */
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
        // Or it is the newer one that has slept, while its wall clock was set back: it does not know that its time was over before it began.
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

    /** Where an older life is, when a newer one has begun in another process. */
    function superseded(life: Life): string | undefined {
      const latest = newest.get(nameOf(life));
      if (latest === undefined || latest.process === life.process) return undefined;
      if ((orders.get(latest.number) ?? 0) <= (orders.get(life.number) ?? 0)) return undefined;
      return `process ${life.process.number} after it has come to life at process ${latest.process.number}`;
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
        alone(life);
      },
      deactivated: forget,
      turnBegan({ life, op }) {
        const where = superseded(life);
        if (where !== undefined && clocksErr(life)) stage.excuse("single runner");
        else if (where !== undefined) report(`${labelOf(life)} begins ${op} at ${where}`);
        alone(life);
      },
      turnEnded({ life, op }) {
        const where = superseded(life);
        if (where !== undefined && !clocksErr(life)) late.set(op, where);
      },
      answered({ token, outcome, call }) {
        const where = late.get(token);
        if (where === undefined || outcome === undefined || "error" in outcome) return;
        report(`${token} on ${labelOf(call)} was answered by a turn that ended at ${where}`);
      },
    };
  },
};
