// Activities that the worker of a run runs itself, without a queue: the first attempt, at once, its result a step of the run's task. Every
// later attempt waits in the queue like all others, from the same step on in which the failure is recorded: so it survives this worker.

import type { QueuedActivity } from "../definition/messages.ts";
import type { CommandEvent, Wire } from "../engine/events.ts";
import type { Item, LoadedRun } from "../worker/loaded-run.ts";
import type { Dispatcher } from "../worker/outgoing.ts";
import { failureOf, timeoutOf } from "./failure.ts";
import { afterFailure, attemptMs, notHeard } from "./limits.ts";
import type { ActivityRunner } from "./runner.ts";

export interface EagerActivitiesDeps {
  readonly dispatcher: Dispatcher;
  readonly activities: ActivityRunner;
  readonly queue: string;
  /** The store's clock. */
  now(): number;
}

type Scheduled = Extract<CommandEvent, { kind: "ActivityScheduled" }>;

/** One that says how long it may be silent is expected to be long: in a queue it survives its worker, with what it has said of itself. */
export const isEager = ({ name, options }: Scheduled, { queue, activities }: EagerActivitiesDeps): boolean =>
  (options?.queue === undefined || options.queue === queue) && options?.heartbeat === undefined && activities.has(name);

/** What is to be recorded of its first attempt. It does not throw. */
export async function runEagerly(
  run: LoadedRun,
  decision: Scheduled,
  signal: AbortSignal,
  deps: EagerActivitiesDeps,
): Promise<Item> {
  const activity = activityOf(run, decision);
  const { n, options } = activity;
  let said: Wire | undefined;
  try {
    const result = await deps.activities.run({
      ...activity,
      options,
      attempt: 1,
      lastHeartbeat: undefined,
      signal,
      limitMs: () => attemptMs(activity, deps.now()),
      heartbeat: (details) => {
        said = details;
      },
    });
    return { news: { kind: "ActivityCompleted", of: n, result } };
  } catch (thrown) {
    return failed({ ...activity, ...(said !== undefined && { heartbeat: said }) }, failureOf(thrown), deps);
  }
}

/** What becomes of one whose worker is gone, without its result. Undefined: it can run here. */
export function takenOver(run: LoadedRun, decision: Scheduled, deps: EagerActivitiesDeps): Item | undefined {
  const activity = activityOf(run, decision);
  const { n, name } = activity;
  const error = timeoutOf(notHeard(name));
  // Whoever had the task has begun it, and was not heard of again: if it was the activity that ended its process, it ends no other one.
  if (run.attempt > 1) {
    const names = ["LimpetError", error.errorCode];
    return failed(activity, { kind: "timed out", names, isFinal: false, error }, deps);
  }
  if (deps.activities.has(name)) return undefined;
  // It was begun where it is known, and there somebody can begin it again.
  const news = { kind: "ActivityRetryScheduled", of: n, attempts: 0, pause: 0, error } as const;
  return { news, reminders: deps.dispatcher.queue(activity, undefined) };
}

function failed(activity: QueuedActivity, failure: ReturnType<typeof failureOf>, deps: EagerActivitiesDeps): Item {
  const now = deps.now();
  const after = afterFailure(activity, 1, failure, now);
  if ("news" in after) return { news: after.news };
  const { pauseMs: pause } = after;
  const { n: of } = activity;
  const news = { kind: "ActivityRetryScheduled", of, attempts: 1, pause, error: failure.error } as const;
  const reminders = deps.dispatcher.queue({ ...activity, attempts: 1 }, now + pause);
  return { news, reminders };
}

function activityOf(run: LoadedRun, { n, name, input, options }: Scheduled): QueuedActivity {
  const { workflowId, runId } = run;
  const scheduledAt = run.scheduled.get(n)?.at ?? run.at;
  return { workflowId, runId, n, name, input, attempts: 0, scheduledAt, ...(options !== undefined && { options }) };
}
