// Delivers due timers, timeouts and checks of activities to their runs, with or without the code of the run
// in this process.
import { LimpetError } from "../kernel/errors.ts";
import { serializeError } from "../kernel/serialized-error.ts";
import type { ReminderTick, Timers } from "../ports/reminder-writer.ts";
import type { Workflows } from "../ports/store/workflows.ts";
import type { ActivityTasks } from "./activities/tasks.ts";
import {
  type ActivityWatch,
  ANSWER_TYPE,
  CLEANUP_TIMEOUT,
  type RunTimer,
  TIMEOUT_TYPE,
  TIMER_TYPE,
  WATCH_TYPE,
  writeError,
} from "./definition/messages.ts";
import { endFromOutside } from "./history/ending.ts";
import type { HostQuestions } from "./inbox/host-questions.ts";
import { inboxMessage } from "./inbox/inbox-messages.ts";
import type { RunRequests } from "./inbox/run-requests.ts";
import type { Notifications } from "./notifications.ts";
import type { CommandDispatcher } from "./worker/command-dispatcher.ts";
import { FewAtATime } from "./worker/few-at-a-time.ts";

export interface RunTimersDeps {
  readonly namespace: string;
  readonly store: Workflows;
  readonly timers: Timers;
  readonly dispatcher: CommandDispatcher;
  readonly tasks: ActivityTasks;
  readonly hosts: HostQuestions;
  readonly requests: RunRequests;
  readonly notifications: Notifications;
  /** The store's clock. */
  now(): number;
}

export class RunTimers {
  readonly #deps: RunTimersDeps;
  readonly #looking = new FewAtATime();
  #isServed = false;

  constructor(deps: RunTimersDeps) {
    this.#deps = deps;
  }

  /** Delivers from now on. */
  serve(): void {
    if (this.#isServed) return;
    this.#isServed = true;
    const { timers, hosts } = this.#deps;
    timers.serve(TIMER_TYPE, (data, tick) => this.#fired(data as RunTimer, tick));
    timers.serve(TIMEOUT_TYPE, (data) => this.#timedOut(data as RunTimer));
    timers.serve(WATCH_TYPE, (data) => this.#lookAfter(data as ActivityWatch));
    timers.serve(ANSWER_TYPE, (data) => hosts.outlived(data));
  }

  async #fired(timer: RunTimer, tick: ReminderTick): Promise<void> {
    const message = { kind: "TimerFired", of: timer.n } as const;
    await this.#deps.requests.report(timer, `timer ${timer.n}`, message, tick.due);
  }

  async #timedOut({ workflowId, runId, n }: RunTimer): Promise<void> {
    const { namespace, store, requests, notifications } = this.#deps;
    if (n === CLEANUP_TIMEOUT) {
      const message = { kind: "CancelRequested", reason: "the time to clean up is over" } as const;
      await requests.send(inboxMessage({ namespace, workflowId, runId, key: "cleanup is over" }, message));
      return;
    }
    const run = await store.find({ namespace, workflowId, runId });
    if (run === undefined || run.status !== "running") return;
    const error = serializeError(new LimpetError("WORKFLOW_TIMED_OUT", `workflow ${workflowId} took too long`));
    const messages = await endFromOutside(run, "timed out", error, this.#deps);
    if (messages === undefined) return;
    const end = { status: "timed out", result: writeError(error) } as const;
    notifications.endedFromOutside(run.ref, run.runId, end, messages);
  }

  /** Checks the limits of an activity that may have no workers. */
  async #lookAfter(watch: ActivityWatch): Promise<void> {
    const { tasks, timers, dispatcher } = this.#deps;
    const again = await this.#looking.run(() => tasks.lookAfter(watch));
    if (again !== undefined) await timers.writer.write(dispatcher.watch(watch, again));
  }
}
