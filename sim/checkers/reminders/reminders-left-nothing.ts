// Checks that a process that stops in an orderly way releases the reminders it has not begun, so that another
// process can deliver them at once, before the leases end.
import type { ReminderKey } from "../../../src/ports/store/reminders.ts";
import type { CheckerKind } from "../checker.ts";
import { labelOfKey, rowsOf } from "./reminder-rows.ts";

const SLOW_MS = 1_000;

const actorOf = ({ namespace, type, id }: ReminderKey): string => `${namespace} ${type}/${id}`;

export const remindersLeftNothing: CheckerKind = {
  name: "no lease left",
  rule: "after all hosts have stopped no reminder is leased, unless its handler still runs",
  make(stage, report) {
    if (stage.plan.reminders === undefined) return {};
    const rows = rowsOf(stage);
    let isTheEnd = false;
    // Deliveries of these processes were cut off. They cannot know whether remote handlers continue, so they
    // must not release the leases.
    const cutOff = new Set<string>();
    /** End of a slow handler by actor, also for reminders that were replaced meanwhile. */
    const slowUntil = new Map<string, number>();
    return {
      reminderEnded({ type, id, beganAt }) {
        if (stage.now - beganAt > SLOW_MS) slowUntil.set(`${type}/${id}`, stage.now);
      },
      logged({ who, event }) {
        if (isTheEnd && event === "lease.lost") cutOff.add(who);
      },
      healed() {
        isTheEnd = true;
      },
      gone(host, process) {
        if (!isTheEnd || cutOff.has(host.name)) return;
        // A stop waits for slow handlers up to a limit, and for other reminders of the same actor, which run
        // after them.
        const slow = new Set<string>();
        for (const { key, carried } of rows.current) {
          if (carried.how.hangs === true || carried.how.slowMs !== undefined) slow.add(actorOf(key));
        }
        for (const { key, op, holder } of rows.current) {
          if (holder?.process !== process || holder.until <= stage.world.database.now || slow.has(actorOf(key)))
            continue;
          if (stage.now - (slowUntil.get(`${key.type}/${key.id}`) ?? Number.NEGATIVE_INFINITY) < SLOW_MS) continue;
          const left = Math.round(holder.until - stage.world.database.now);
          report(`process ${process.number} has stopped, and has ${labelOfKey(key)} of ${op} for ${left} ms more`);
        }
      },
    };
  },
};
