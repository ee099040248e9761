// Replays a recorded history with the present code, to test whether open runs in production can continue with
// it. Only the code of the workflow runs.

import { checkRuntime } from "../host/runtime.ts";
import { systemSettle } from "../host/system.ts";
import { LimpetError } from "../kernel/errors.ts";
import type { RunHistoryEvent } from "../workflows/client/client.ts";
import type { AnyWorkflow } from "../workflows/definition/definition.ts";
import { describeCommand } from "../workflows/engine/divergence.ts";
import { type HistoryEvent, isCommandEvent, type Step, writeEventBatch } from "../workflows/engine/events.ts";
import { Execution } from "../workflows/engine/execution.ts";
import { processGuards } from "../workflows/engine/guards.ts";
import type { Activities } from "./test-app.ts";

/**
 * The output of `limpet workflows <id> --events --json`, as text or parsed; or the result of a handle's
 * `history()`.
 */
export type RecordedHistory = string | readonly RunHistoryEvent[] | { readonly events: readonly RunHistoryEvent[] };

export interface ReplayOptions {
  /** The activities as in `limpet()`. Others are known by the names of their functions. */
  readonly activities?: Activities;
  /** Value in `ctx.info`. */
  readonly namespace?: string;
  readonly queue?: string;
}

/** State of the code after the last event. */
export interface ReplayedRun {
  readonly workflowId: string;
  readonly runId: string;
  readonly events: number;
  /** The code has completed. */
  readonly isOver: boolean;
  /** For display. */
  readonly waitsFor: readonly string[];
  /** Commands of the code that are not in the history: the run would continue with them. */
  readonly decides: readonly string[];
}

/**
 * Replays a recorded run with this code. Rejects with WORKFLOW_DIVERGED when the code does not match the
 * history, as a worker would detect, and with WORKFLOW_MISUSED when it violates a rule of workflows.
 */
export async function replayHistory(
  workflow: AnyWorkflow,
  history: RecordedHistory,
  { activities = {}, namespace = "default", queue = "default" }: ReplayOptions = {},
): Promise<ReplayedRun> {
  checkRuntime();
  const events = eventsOf(history);
  const [first] = events;
  if (first?.event.kind !== "WorkflowStarted") throw unreadable("it does not begin with WorkflowStarted");
  const { type, workflowId, runId } = first.event;
  if (type !== workflow.name) {
    throw new LimpetError("WORKFLOW_TYPE_UNKNOWN", `this is the history of a workflow ${type}, not ${workflow.name}`);
  }
  const names = new Map<object, string>(Object.entries(activities).map(([name, activity]) => [activity, name]));
  const nameOf = (activity: object): string | undefined =>
    names.get(activity) ?? ((typeof activity === "function" && activity.name) || undefined);
  const execution = new Execution(workflow, { settle: systemSettle, guards: processGuards, namespace, queue, nameOf });
  await execution.replay(stepsOf(events));
  return {
    workflowId,
    runId,
    events: events.length,
    isOver: execution.end !== undefined,
    waitsFor: execution.waitsFor,
    decides: execution.commands.fresh.map(describeCommand),
  };
}

/**
 * Steps as they were written, as far as they can be determined: each begins with external events, at its own
 * time.
 */
function stepsOf(events: readonly RunHistoryEvent[]): Step[] {
  const steps: { readonly at: number; readonly events: HistoryEvent[] }[] = [];
  for (const [i, { at, event }] of events.entries()) {
    const before = events[i - 1];
    const begins = before?.at !== at || (!isCommandEvent(event) && isCommandEvent(before.event));
    if (begins) steps.push({ at, events: [event] });
    else steps.at(-1)!.events.push(event);
  }
  return steps.map((step) => ({ ...step, bytes: writeEventBatch(step).data.length }));
}

function eventsOf(history: RecordedHistory): readonly RunHistoryEvent[] {
  const read = typeof history === "string" ? parsed(history) : history;
  const list: unknown = Array.isArray(read) ? read : (read as { readonly events?: unknown } | null)?.events;
  if (!Array.isArray(list)) throw unreadable("it is neither a list of events nor an object that has one");
  for (const [i, each] of list.entries()) {
    if (!isRecorded(each)) throw unreadable(`what stands at place ${i} is not an event with its number and time`);
    // A part of a history is not sufficient: code is replayed from the beginning.
    if (each.number !== i + 1) throw unreadable(`event ${i + 1} is missing`);
  }
  return list as readonly RunHistoryEvent[];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw unreadable("it is no JSON", cause);
  }
}

function isRecorded(value: unknown): value is { number: number; at: number; event: HistoryEvent } {
  if (typeof value !== "object" || value === null) return false;
  const { number, at, event } = value as Partial<RunHistoryEvent>;
  return typeof number === "number" && typeof at === "number" && typeof event?.kind === "string";
}

const unreadable = (why: string, cause?: unknown): LimpetError =>
  new LimpetError("ARGUMENT_INVALID", `this history cannot be replayed: ${why}`, { cause });
