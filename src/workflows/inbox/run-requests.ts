// Writes starts of runs and messages to runs, and wakes the worker that has the run. Requests are rejected
// once the process stops: the store closes next, so no request is retried.
import type { LimpetError } from "../../kernel/errors.ts";
import type {
  DeliveryOutcome,
  InboxMessage,
  RunStart,
  StartOutcome,
  StoredRun,
  Workflows,
} from "../../ports/store/workflows.ts";
import { closed, maybeDone } from "../client/client.ts";
import { type Message, writeMessage } from "../definition/messages.ts";
import type { Started } from "../engine/events.ts";
import type { Notifications } from "../notifications.ts";
import { FewAtATime } from "../worker/few-at-a-time.ts";
import { sendTo } from "./inbox-messages.ts";

export interface RunRequestsDeps {
  readonly namespace: string;
  readonly store: Workflows;
  readonly notifications: Notifications;
  /** Called before a run starts. */
  starting(): void;
  /** Starts the run in the worker of this process; undefined: it cannot. */
  startHere(start: RunStart, started: Started, at: number): Promise<StartOutcome | undefined>;
}

type RunName = Pick<StoredRun, "workflowId" | "runId">;

export class RunRequests {
  readonly #deps: RunRequestsDeps;
  readonly #finding = new FewAtATime();
  #stopped: LimpetError | undefined;

  constructor(deps: RunRequestsDeps) {
    this.#deps = deps;
  }

  stop(reason: LimpetError): void {
    this.#stopped = reason;
  }

  async start(start: RunStart, started: Started, at: number): Promise<StartOutcome> {
    if (this.#stopped !== undefined) throw this.#stopped;
    const { store, notifications, starting, startHere } = this.#deps;
    starting();
    const here = await startHere(start, started, at);
    const outcome = here ?? (await store.start([start]))[0]!;
    notifications.reminded(start.reminders);
    if (here === undefined) notifications.taskReady();
    return outcome;
  }

  /** Throws WORKFLOW_CLOSED or WORKFLOW_UNKNOWN if there is no open run. */
  async deliver(message: InboxMessage): Promise<{ readonly ref: number; readonly runId: string }> {
    const outcome = await this.send(message);
    if (outcome.kind === "delivered") return outcome;
    const refusal = closed(message.workflowId, outcome.status);
    throw outcome.isAmbiguous ? maybeDone(refusal.message) : refusal;
  }

  async send(message: InboxMessage): Promise<DeliveryOutcome> {
    if (this.#stopped !== undefined) throw this.#stopped;
    const outcome = await sendTo(this.#deps.store, message);
    if (outcome.kind === "delivered") this.#deps.notifications.delivered(outcome.ref);
    return outcome;
  }

  /** Delivers the outcome of a command to its run; a closed run ignores it. */
  async report({ workflowId, runId }: RunName, key: string, message: Message, notBefore?: number): Promise<void> {
    await this.reportText({ workflowId, runId }, key, writeMessage(message, { notBefore }));
  }

  async reportText({ workflowId, runId }: RunName, key: string, data: string): Promise<void> {
    const { namespace } = this.#deps;
    await this.send({ namespace, workflowId, runId, key, data, goesAlong: false });
  }

  isOpen({ workflowId, runId }: RunName): Promise<boolean> {
    return this.#finding.share(runId, async () => {
      const run = await this.#deps.store.find({ namespace: this.#deps.namespace, workflowId, runId });
      return run?.status === "running";
    });
  }
}
