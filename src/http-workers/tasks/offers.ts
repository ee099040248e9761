// Offers available work to a worker, together with the answer to another request.

import type { HttpWorkerService } from "../service.ts";
import type { ActivityTask } from "./activities.ts";
import type { WorkflowTask } from "./task-claimer.ts";

export interface Offer {
  readonly task: WorkflowTask | undefined;
  readonly activities: readonly ActivityTask[];
}

/** An activity that was just queued may be due a moment later, where clocks differ. */
const MOMENT_MS = 20;

/**
 * Claims up to the wanted number. `queued`: the number of activities that must be available. Returns nothing
 * when the worker may not claim or the claim fails: the other request takes effect all the same.
 */
export async function offerWork(
  service: HttpWorkerService,
  workerId: string,
  wanted: { readonly task: boolean; readonly activities: number; readonly requestId: string | undefined },
  queued: number,
  gone: AbortSignal,
): Promise<Offer> {
  const { requestId } = wanted;
  const activities: ActivityTask[] = [];
  let task: WorkflowTask | undefined;
  try {
    const { queue } = await service.workers.get(workerId);
    const poll = { workerId, queue, build: undefined, requestId, waitMs: 0, gone };
    if (wanted.task) task = (await service.pollTasks(poll, { tasks: true, validations: false })).task as WorkflowTask;
    while (activities.length < wanted.activities) {
      // Each activity has a request id of its own, so that the worker can ask for it again.
      const name = requestId === undefined ? undefined : `${requestId}/${activities.length + 1}`;
      const waitMs = activities.length < queued ? MOMENT_MS : 0;
      const { task: found } = await service.pollActivities({ ...poll, requestId: name, waitMs });
      if (found === undefined) break;
      activities.push(found);
    }
  } catch (error) {
    service.deps.log.debug("workflow.offer", { worker: workerId, err: error });
  }
  return { task, activities };
}
