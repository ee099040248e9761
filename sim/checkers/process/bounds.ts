// Checks that nothing grows without bound: queues, connections and scheduled events stay in proportion to the
// work of the run.
import { OPTIONS } from "../../../src/config/options.ts";
import type { CheckerKind } from "../checker.ts";
import { every, upHosts } from "../looks.ts";

const LOOK_MS = 1_000;
/** Between two hosts: a link, a stream and a watch each way, and connections that are closing. */
const CONNECTIONS_PER_PAIR = 40;
/** Scheduled timers, messages and requests of one process, without those of calls. */
const PLANNED_PER_HOST = 400;
/**
 * Scheduled events of one call: its deadline, its messages, its answer, and cancelled timers that are not due
 * yet.
 */
const PLANNED_PER_CALL = 40;

/** Longer than any call, and than the detection of a broken connection. */
const LATELY_MS = 30_000;

export const bounds: CheckerKind = {
  name: "bounds",
  rule: "mailboxes, connections and scheduled events stay within their limits",
  make(stage, report) {
    const { plan, world } = stage;
    const { length: hosts } = plan.hosts;
    const mailboxLimit = plan.settings.mailboxLimit ?? Number(OPTIONS.mailboxLimit.default);
    const asked: number[] = [];
    // Each reminder may wait once for its actor.
    const reminders = plan.calls.filter(({ how }) => how.remind !== undefined).length;
    const mostConnections = hosts * hosts * CONNECTIONS_PER_PAIR;
    const mostPlanned =
      plan.calls.length * PLANNED_PER_CALL + hosts * hosts * PLANNED_PER_HOST + plan.faults.length * 100;
    return {
      asked() {
        asked.push(stage.now);
      },
      stepped: every(stage, LOOK_MS, () => {
        if (world.network.open > mostConnections) report(`${world.network.open} connections among ${hosts} hosts`);
        if (world.timeline.planned > mostPlanned) report(`${world.timeline.planned} happenings are planned`);
        for (const { process, host } of upHosts(stage)) {
          void host.list({ active: true, limit: 1_000 }).then((page) => {
            for (const { type, id, waiting } of page.actors) {
              if (waiting > mailboxLimit) report(`${waiting} calls wait for ${type}/${id}, and ${mailboxLimit} may`);
              // Chains add one call each; there are no other calls. A caller may have given up while its
              // cancellation is in flight.
              const lately = asked.filter((at) => at > stage.now - LATELY_MS).length;
              if (waiting > (lately + 1 + reminders) * 2) {
                report(
                  `${waiting} calls wait for ${type}/${id} at process ${process.number}; ${lately} were made lately`,
                );
              }
            }
          });
        }
      }),
    };
  },
};
