// Ends runs without their code: from outside, or by the worker when the code is blocked. The consequences
// follow from the history: the parent and the children are notified, and timers and activities of the run are
// cancelled.

import { LimpetError } from "../../kernel/errors.ts";
import { type SerializedError, serializeError } from "../../kernel/serialized-error.ts";
import type {
  ClaimedTask,
  Closing,
  InboxMessage,
  StoredRun,
  TaskCompletion,
  Workflows,
} from "../../ports/store/workflows.ts";
import { type Message, readMessage, type Sent, writeError } from "../definition/messages.ts";
import type { EndedFromOutside, HistoryEvent } from "../engine/events.ts";
import { writeEventBatch } from "../engine/events.ts";
import { isMeant, toChildren } from "../engine/family.ts";
import type { CommandDispatcher } from "../worker/command-dispatcher.ts";
import { CompletionBuilder, closeWith } from "../worker/completion.ts";
import type { RunState } from "./run-state.ts";
import { RunStates } from "./run-states.ts";

export interface EndingDeps {
  readonly store: Workflows;
  readonly dispatcher: CommandDispatcher;
  /** The store's clock. */
  now(): number;
}

/** Inbox messages that one read returns. */
const LOOK = 1_000;

/** Returns the messages to the parent and the children. Undefined: the run was already closed. */
export async function endFromOutside(
  run: Pick<StoredRun, "namespace" | "workflowId" | "runId" | "ref" | "queue">,
  status: Closing["status"],
  error: SerializedError,
  { store, dispatcher, now }: EndingDeps,
): Promise<readonly InboxMessage[] | undefined> {
  const { namespace, workflowId, runId, ref } = run;
  const runs = new RunStates(store, Number.POSITIVE_INFINITY);
  const known = await runs.get(ref, undefined);
  if (known === undefined) return undefined;
  const at = now();
  const kind = status === "terminated" ? "WorkflowTerminated" : "WorkflowTimedOut";
  const event: EndedFromOutside = { kind, reason: error.message };
  const { reminders, messages } = endedBy(error, known, dispatcher.forQueue(run.queue), at);
  const notified = new Set(known.children.keys());
  const batch = writeEventBatch({ at, events: [event] });
  const closing = { namespace, workflowId, runId, status, batch, result: writeError(error), reminders, messages };
  if (!(await store.close(closing))) return undefined;
  try {
    // The worker may have added steps meanwhile. After the close no worker adds to the run.
    const { children } = (await runs.get(ref, undefined)) ?? known;
    const missed = new Map([...children].filter(([n]) => !notified.has(n)));
    if (missed.size === 0) return messages;
    const late = toChildren(namespace, run, missed);
    await store.deliver(late);
    return [...messages, ...late];
  } catch (cause) {
    const what = `workflow ${workflowId} is over (${status}); its latest children may not have been notified (${cause})`;
    throw new LimpetError("COMMIT_UNKNOWN", what, { cause });
  }
}

/** A step with the effects of the end, and without events. */
function endedBy(error: SerializedError, run: RunState, dispatcher: CommandDispatcher, at: number): CompletionBuilder {
  const step = new CompletionBuilder(run, dispatcher);
  step.end({ kind: "WorkflowFailed", n: 0, error }, at);
  return step;
}

/**
 * The end of a blocked run, if its inbox holds a request to end. Only the holder of its task may write it.
 */
export async function endOfBroken(task: ClaimedTask, deps: EndingDeps): Promise<TaskCompletion | undefined> {
  const { store } = deps;
  const requests = await endRequests(task, store);
  if (requests.length === 0) return undefined;
  const run = await new RunStates(store, 0).get(task.ref, task.last);
  const asked = run && requests.find(({ onlyFor }) => isMeant(run.started, { onlyFor }));
  if (asked === undefined) return undefined;
  const { number, message } = asked;
  const isCancel = message.kind === "CancelRequested";
  const error = serializeError(
    new LimpetError(isCancel ? "WORKFLOW_CANCELLED" : "WORKFLOW_TERMINATED", message.reason),
  );
  const last = { kind: "WorkflowTerminated", reason: message.reason } as const;
  const end = {
    events: isCancel ? [message, last] : [last],
    status: isCancel ? "cancelled" : "terminated",
    error,
  } as const;
  return endingStep({ ...task, taken: number }, run!, end, deps);
}

/** The end of a stored run after its start was refused. */
export async function endOfRefused(
  task: ClaimedTask,
  refusal: LimpetError,
  deps: EndingDeps,
): Promise<TaskCompletion | undefined> {
  const run = await new RunStates(deps.store, 0).get(task.ref, task.last);
  if (run === undefined) return undefined;
  const error = serializeError(new LimpetError("WORKFLOW_TERMINATED", refusal.message));
  const events = [{ kind: "WorkflowTerminated", reason: refusal.message }] as const;
  return endingStep(task, run, { events, status: "terminated", error }, deps);
}

interface EndingStep {
  readonly events: readonly HistoryEvent[];
  readonly status: "cancelled" | "terminated";
  readonly error: SerializedError;
}

function endingStep(
  { ref, token, last, taken }: ClaimedTask,
  run: RunState,
  { events, status, error }: EndingStep,
  { dispatcher, now }: EndingDeps,
): TaskCompletion {
  const at = Math.max(run.at, now());
  const step = endedBy(error, run, dispatcher, at);
  step.events.push(...events);
  return step.build({ ref, token, last, taken, outcome: closeWith(status, error), affinity: undefined }, at);
}

interface EndRequest extends Sent {
  readonly number: number;
  readonly message: Extract<Message, { kind: "CancelRequested" | "TerminateRequested" }>;
}

/** All requests to end in the inbox, however many other messages it holds. */
async function endRequests({ ref, taken }: ClaimedTask, store: Workflows): Promise<EndRequest[]> {
  const found: EndRequest[] = [];
  for (let after = taken; ; ) {
    const messages = await store.inbox(ref, after, LOOK);
    for (const { number, data } of messages) {
      const { message, onlyFor } = readMessage(data);
      if (message.kind === "CancelRequested" || message.kind === "TerminateRequested") {
        found.push({ number, message, onlyFor });
      }
    }
    if (messages.length < LOOK) return found;
    after = messages.at(-1)!.number;
  }
}
