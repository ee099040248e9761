// Returns a task that its worker cannot complete: the code does not fit the history, the history is full, or
// another error occurred. The run is blocked and retried after a pause, longer each time. Requests to end it
// still take effect.
import { backoffMs } from "../../kernel/backoff.ts";
import { type ErrorCode, isLimpetError, type LimpetError } from "../../kernel/errors.ts";
import type { Log } from "../../ports/log.ts";
import type { ClaimedTask, TaskCompletion } from "../../ports/store/workflows.ts";
import { Stray } from "../engine/exceptions.ts";
import { type EndingDeps, endOfBroken, endOfRefused } from "../history/ending.ts";
import type { WorkflowInstruments } from "../instruments.ts";
import type { TaskDeps } from "./task.ts";

export interface BlockedTaskDeps extends EndingDeps, Pick<TaskDeps, "written"> {
  readonly log: Log;
  readonly instruments: WorkflowInstruments;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 5 * 60_000;
/**
 * A run with a full history waits for an operator or for a worker with a higher limit; a run with lost
 * attempts waits for an operator.
 */
const PARKED_MS = 3_600_000;
const PARKING: readonly ErrorCode[] = ["WORKFLOW_TOO_LARGE", "WORKFLOW_ATTEMPTS_LOST"];

/** The pause before the next claim. */
export const blockedPauseMs = (error: unknown, attempt: number): number =>
  error instanceof Stray || PARKING.some((code) => isLimpetError(error, code))
    ? PARKED_MS
    : backoffMs(attempt - 1, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);

export async function returnBlocked(task: ClaimedTask, error: unknown, deps: BlockedTaskDeps): Promise<void> {
  // An unavailable store is no fault of the run: its lease expires instead.
  if (isLimpetError(error, "STORE_UNAVAILABLE") || isLimpetError(error, "COMMIT_UNKNOWN")) return;
  const { store, log, instruments } = deps;
  const { ref, token, workflowId, type, attempt } = task;
  const problem = error instanceof Error ? error.message : String(error);
  instruments.blocked();
  log.warn("workflow.blocked", { workflow: workflowId, type, attempt, err: error });
  try {
    if (await endIfAsked(task, deps)) return;
    await store.giveBack([{ ref, token, pauseMs: blockedPauseMs(error, attempt), problem }]);
    await wakeIfAsked(task, deps);
  } catch (err) {
    log.warn("workflow.return.failed", { err });
  }
}

/**
 * A request to end may have arrived between the last check and the pause. Later requests wake the run
 * themselves.
 */
async function wakeIfAsked(task: ClaimedTask, deps: BlockedTaskDeps): Promise<void> {
  if ((await endOfBroken(task, deps)) !== undefined) await deps.store.wake(task);
}

async function endIfAsked(task: ClaimedTask, deps: BlockedTaskDeps): Promise<boolean> {
  const end = await endOfBroken(task, deps);
  return end !== undefined && (await writeEnd(task, end, deps));
}

async function writeEnd(task: ClaimedTask, end: TaskCompletion, deps: BlockedTaskDeps): Promise<boolean> {
  const [outcome] = await deps.store.complete([end]);
  if (outcome!.kind === "done") deps.written(end, outcome!, task.runId);
  return outcome!.kind === "done";
}

/**
 * Terminates a stored run after its start was refused. If the store does not answer, the run is blocked
 * later.
 */
export async function endRefused(task: ClaimedTask, error: LimpetError, deps: BlockedTaskDeps): Promise<void> {
  try {
    const end = await endOfRefused(task, error, deps);
    if (end !== undefined) await writeEnd(task, end, deps);
  } catch (err) {
    deps.log.warn("workflow.return.failed", { err });
  }
}
