// Runs the first attempt of an activity inside the worker of its run, without a queue. The result becomes a
// step of the run's task. A later attempt waits in the queue, written in the same step that records the
// failure, so it survives this worker.

import type { QueuedActivity } from "../definition/messages.ts";
import type { CommandEvent, Wire } from "../engine/events.ts";
import type { CommandDispatcher } from "../worker/command-dispatcher.ts";
import type { Item, LoadedRun } from "../worker/loaded-run.ts";
import { failureOf, timeoutOf } from "./failure.ts";
import { afterFailure, attemptMs, reportedNothing } from "./limits.ts";
import type { ActivityRunner } from "./runner.ts";

export interface EagerActivitiesDeps {
  readonly dispatcher: CommandDispatcher;
  readonly activities: ActivityRunner;
  readonly queue: string;
  /** The store's clock. */
  now(): number;
}

type Scheduled = Extract<CommandEvent, { kind: "ActivityScheduled" }>;

/**
 * An activity with a heartbeat limit is expected to run long. In a queue it survives its worker, and so does
 * its last heartbeat.
 */
export const isEager = ({ name, options }: Scheduled, { queue, activities }: EagerActivitiesDeps): boolean =>
  (options?.queue === undefined || options.queue === queue) && options?.heartbeat === undefined && activities.has(name);

/** Runs the first attempt and returns the event to record. It does not throw. */
export async function runEagerly(
  run: LoadedRun,
  decision: Scheduled,
  signal: AbortSignal,
  deps: EagerActivitiesDeps,
): Promise<Item> {
  const activity = activityOf(run, decision);
  const { n, options } = activity;
  let lastDetails: Wire | undefined;
  try {
    const result = await deps.activities.run({
      ...activity,
      options,
      attempt: 1,
      lastHeartbeat: undefined,
      signal,
      limitMs: () => attemptMs(activity, deps.now()),
      heartbeat: (details) => {
        lastDetails = details;
      },
    });
    return { event: { kind: "ActivityCompleted", of: n, result } };
  } catch (thrown) {
    return failed({ ...activity, heartbeat: lastDetails }, failureOf(thrown), deps);
  }
}

/**
 * The event for an activity whose worker ended before it recorded a result. Undefined: this worker can run
 * it.
 */
export function takenOver(run: LoadedRun, decision: Scheduled, deps: EagerActivitiesDeps): Item | undefined {
  const activity = activityOf(run, decision);
  const { n, name } = activity;
  const error = timeoutOf(reportedNothing(name));
  // The previous worker began the task and did not come back. If this activity crashed that process, it must
  // not crash another one.
  if (run.attempt > 1) {
    const names = ["LimpetError", error.errorCode];
    return failed(activity, { kind: "timed out", names, isFinal: false, error }, deps);
  }
  if (deps.activities.has(name)) return undefined;
  // A worker that knows this activity began it, so such a worker can begin it again from the queue.
  const event = { kind: "ActivityRetryScheduled", of: n, attempts: 0, pause: 0, error } as const;
  return { event, reminders: deps.dispatcher.queue(activity, undefined) };
}

function failed(activity: QueuedActivity, failure: ReturnType<typeof failureOf>, deps: EagerActivitiesDeps): Item {
  const now = deps.now();
  const after = afterFailure(activity, 1, failure, now);
  if ("event" in after) return { event: after.event };
  const { pauseMs: pause } = after;
  const { n: of } = activity;
  const event = { kind: "ActivityRetryScheduled", of, attempts: 1, pause, error: failure.error } as const;
  const reminders = deps.dispatcher.queue({ ...activity, attempts: 1 }, now + pause);
  return { event, reminders };
}

function activityOf(run: LoadedRun, { n, name, input, options }: Scheduled): QueuedActivity {
  const { workflowId, runId } = run;
  const scheduledAt = run.scheduled.get(n)?.at ?? run.at;
  return { workflowId, runId, n, name, input, attempts: 0, scheduledAt, options };
}
