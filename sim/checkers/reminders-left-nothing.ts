// When every process has stopped in an orderly way, nobody has a lease on a reminder: whoever comes next can go on at once.
import type { CheckerKind } from "./checker.ts";
import { labelOfKey } from "./reminder-rows.ts";

const PAGE = 100_000;

export const remindersLeftNothing: CheckerKind = {
  name: "no lease left",
  rule: "after everybody has stopped no reminder is leased",
  make(stage, report) {
    if (stage.plan.reminders === undefined) return {};
    return {
      over() {
        for (const namespace of new Set(stage.plan.hosts.map((host) => host.namespace))) {
          void stage.world.database.truth.reminders.list({ namespace, limit: PAGE }).then((stored) => {
            for (const { key, leasedUntil } of stored) {
              if (leasedUntil !== undefined)
                report(`${labelOfKey(key)} of ${namespace} is leased until ${leasedUntil}`);
            }
          });
        }
      },
    };
  },
};
