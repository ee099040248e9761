// Checks that a task goes to a matching worker: by namespace, queue, type, and the build that its run is
// pinned to. The worker that has the run in memory is preferred while it is present, and the reported reason
// is correct.
import type { TaskClaim } from "../../../src/ports/store/workflows.ts";
import type { CheckerKind } from "../checker.ts";
import { labelOfRun, runsOf, type SeenRun } from "./workflow-runs.ts";

const HIT = "sticky_hit_expected";

export const workflowMatching: CheckerKind = {
  name: "workflow matching",
  rule: "tasks go to matching workers, first to the one that has the run in memory, with the correct reason",
  make(stage, report) {
    if (stage.plan.workflows === undefined) return {};
    const store = stage.world.database.truth.workflows;

    function isFree(run: SeenRun, request: TaskClaim, who: string, now: number): void {
      const { stickyWorker: owner, stickyUntil = 0 } = run.stored;
      if (owner === undefined || owner === request.lease.worker || !request.isSticky || stickyUntil <= now) return;
      void store.workers(run.namespace).then((workers) => {
        const row = workers.find(({ worker }) => worker === owner);
        const isThere = row?.isSticky && !row.isDraining && row.seenAt + request.staleMs > now;
        if (isThere) report(`${who}, which ${owner} has in memory for ${stickyUntil - now} ms more`);
      });
    }

    runsOf(stage).watchers.push({
      claimed(run, process, request, task, now) {
        const { namespace, queue, types, lease, isSticky } = request;
        const who = `process ${process.number} was given the task of ${labelOfRun(run)}`;
        const { stored } = run;
        if (stored.namespace !== namespace) report(`${who}, which is of ${stored.namespace} and not of ${namespace}`);
        if (stored.queue !== queue) report(`${who}, which is in the queue ${stored.queue} and not in ${queue}`);
        const { pins } = types.find(({ type }) => type === stored.type) ?? {};
        if (pins === undefined) report(`${who}, which is a ${stored.type}`);
        else if (!pins.some(({ pinned }) => pinned === stored.pinned))
          report(`${who}, which is pinned to ${stored.pinned}`);
        const isMine = isSticky && stored.stickyWorker === lease.worker && (stored.stickyUntil ?? 0) > now;
        if ((task.mode === HIT) !== isMine)
          report(`${who} as ${task.mode}, and ${stored.stickyWorker} has it in memory`);
        isFree(run, request, who, now);
      },
    });
    return {};
  },
};
