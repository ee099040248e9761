// A task that its worker cannot bring to an end: because its code does not fit the history, its history is full, or something else is
// wrong with it. The run is blocked: somebody may have it again after a while, longer each time; and it can be asked to end all the same.
import { type ErrorCode, isLimpetError, type LimpetError } from "../../kernel/errors.ts";
import type { Log } from "../../ports/log.ts";
import type { ClaimedTask, TaskCompletion } from "../../ports/workflows.ts";
import { Stray } from "../engine/stray.ts";
import type { WorkflowInstruments } from "../instruments.ts";
import { type EndingDeps, endOfBroken, endOfRefused } from "./ending.ts";
import type { TaskDeps } from "./task.ts";

export interface BlockedTaskDeps extends EndingDeps, Pick<TaskDeps, "written"> {
  readonly log: Log;
  readonly instruments: WorkflowInstruments;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 5 * 60_000;
/** A run with a full history waits for an operator or for a worker with a higher limit; a run with lost attempts waits for an operator. */
export const PARKED_MS = 3_600_000;
const PARKING: readonly ErrorCode[] = ["WORKFLOW_TOO_LARGE", "WORKFLOW_ATTEMPTS_LOST"];

/** How long no worker gets it. */
export const pauseAfter = (error: unknown, attempt: number): number =>
  error instanceof Stray || PARKING.some((code) => isLimpetError(error, code))
    ? PARKED_MS
    : Math.min(FIRST_PAUSE_MS * 2 ** Math.min(attempt - 1, 20), LONGEST_PAUSE_MS);

export async function returnBlocked(task: ClaimedTask, error: unknown, deps: BlockedTaskDeps): Promise<void> {
  // That the store is away says nothing about the run: its lease runs out.
  if (isLimpetError(error, "STORE_UNAVAILABLE") || isLimpetError(error, "COMMIT_UNKNOWN")) return;
  const { store, log, instruments } = deps;
  const { ref, token, workflowId, type, attempt } = task;
  const problem = error instanceof Error ? error.message : String(error);
  instruments.blocked();
  log.warn("workflow.blocked", { workflow: workflowId, type, attempt, err: error });
  try {
    if (await endIfAsked(task, deps)) return;
    await store.giveBack([{ ref, token, pauseMs: pauseAfter(error, attempt), problem }]);
    await wakeIfAsked(task, deps);
  } catch (err) {
    log.warn("workflow.return.failed", { err });
  }
}

/** Somebody may have asked it to end between the last look and the pause. Whoever asks from now on wakes it. */
async function wakeIfAsked(task: ClaimedTask, deps: BlockedTaskDeps): Promise<void> {
  if ((await endOfBroken(task, deps)) !== undefined) await deps.store.wake(task);
}

async function endIfAsked(task: ClaimedTask, deps: BlockedTaskDeps): Promise<boolean> {
  const end = await endOfBroken(task, deps);
  return end !== undefined && (await writeEnd(task, end, deps));
}

async function writeEnd(task: ClaimedTask, end: TaskCompletion, deps: BlockedTaskDeps): Promise<boolean> {
  const [outcome] = await deps.store.append([end]);
  if (outcome!.kind === "done") deps.written(end, outcome!, task.runId);
  return outcome!.kind === "done";
}

/**
 * Terminates a stored run after its start was refused. If the store does not answer, the run is
 * blocked later.
 */
export async function endRefused(task: ClaimedTask, error: LimpetError, deps: BlockedTaskDeps): Promise<void> {
  try {
    const end = await endOfRefused(task, error, deps);
    if (end !== undefined) await writeEnd(task, end, deps);
  } catch (err) {
    deps.log.warn("workflow.return.failed", { err });
  }
}
