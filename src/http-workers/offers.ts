// What there is for a worker at this moment, offered along with the answer to something else.
import type { ActivityTask } from "./activities.ts";
import type { RemotePlane } from "./plane.ts";
import type { WorkflowTask } from "./tasks.ts";

export interface Offer {
  readonly task: WorkflowTask | undefined;
  readonly activities: readonly ActivityTask[];
}

/** What was queued a moment ago may be due a moment later, where clocks differ. */
const MOMENT_MS = 20;

/** Up to so much; `queued`: so many activities must be there for it. Nothing, when it must not have any, or none can be had: what it was told with is done all the same. */
export async function offerWork(
  plane: RemotePlane,
  workerId: string,
  wanted: { readonly task: boolean; readonly activities: number; readonly requestId: string | undefined },
  queued: number,
  gone: AbortSignal,
): Promise<Offer> {
  const { requestId } = wanted;
  const activities: ActivityTask[] = [];
  let task: WorkflowTask | undefined;
  try {
    const { queue } = await plane.workers.get(workerId);
    const poll = { workerId, queue, build: undefined, requestId, waitMs: 0, gone };
    if (wanted.task) task = (await plane.pollTasks(poll, { tasks: true, validations: false })).task as WorkflowTask;
    while (activities.length < wanted.activities) {
      // Each has a name of its own, so that it can be asked for again.
      const name = requestId === undefined ? undefined : `${requestId}/${activities.length + 1}`;
      const waitMs = activities.length < queued ? MOMENT_MS : 0;
      const { task: found } = await plane.pollActivities({ ...poll, requestId: name, waitMs });
      if (found === undefined) break;
      activities.push(found);
    }
  } catch (error) {
    plane.deps.log.debug("workflow.offer", { worker: workerId, err: error });
  }
  return { task, activities };
}
