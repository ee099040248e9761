// Sends more work with the answer to a completed task: the next workflow task (of the same run, if there is
// one), and activities, such as newly scheduled ones. Only workers that announce capacity get it. The
// completion stays valid, whatever the outcome here.
import { offerWork } from "../tasks/offers.ts";
import type { ApiCall } from "./api-call.ts";
import { flag, optionalText, optionalWhole } from "./fields.ts";
import { pageSizeOf } from "./format/history-events.ts";
import { encodeActivity, encodeTask } from "./format/tasks.ts";

const MOST_ACTIVITIES = 100;

export interface NextWork {
  readonly task: boolean;
  readonly activities: number;
  readonly requestId: string | undefined;
  readonly pageSize: number;
  readonly takesTail: boolean;
}

/**
 * Undefined: the worker wants no more work. Read before the completion, so that invalid fields are rejected
 * in time.
 */
export function parseNext({ fields }: ApiCall): NextWork | undefined {
  const task = flag(fields, "accept_next_task") ?? false;
  const activities = optionalWhole(fields, "accept_activity_tasks", 0, MOST_ACTIVITIES) ?? 0;
  const requestId = optionalText(fields, "poll_request_id");
  const [pageSize, takesTail] = [pageSizeOf(fields), flag(fields, "accept_history_tail") ?? false];
  return task || activities > 0 ? { task, activities, requestId, pageSize, takesTail } : undefined;
}

/** `queued`: newly scheduled activities that the worker can run. */
export async function encodeNextWork(
  { service, gone }: ApiCall,
  workerId: string,
  wanted: NextWork | undefined,
  queued = 0,
): Promise<Record<string, unknown>> {
  if (wanted === undefined) return {};
  const { pageSize, takesTail } = wanted;
  const { task, activities } = await offerWork(service, workerId, wanted, queued, gone);
  return {
    next_task: task === undefined ? null : encodeTask(task, pageSize, takesTail),
    activity_tasks: activities.map(encodeActivity),
  };
}
