// Starts runs in the worker of this process, so that their first task needs no claim. The start is stored
// with a lease of this worker: alone, or in one transaction with the first step of the code.
import { isLimpetError } from "../../kernel/errors.ts";
import type { ReminderWrite } from "../../ports/store/reminders.ts";
import type {
  ClaimedPin,
  ClaimedTask,
  RunStart,
  StartOutcome,
  TaskLease,
  TypeClaim,
} from "../../ports/store/workflows.ts";
import type { Started } from "../engine/events.ts";
import { type BlockedTaskDeps, endRefused, returnBlocked } from "./blocked-task.ts";
import { LoadedRun } from "./loaded-run.ts";
import type { Replayer } from "./replayer.ts";
import type { RunLoader } from "./run-loader.ts";
import { firstStep, type TaskDeps } from "./task.ts";

export interface LocalStartsDeps extends BlockedTaskDeps {
  readonly queue: string;
  /** The runs that this worker may claim. */
  readonly types: readonly TypeClaim[];
  readonly task: TaskDeps;
  readonly replayer: Replayer;
  readonly loader: RunLoader;
  /** A new lease of this worker. */
  lease(): TaskLease;
  /** Continues the task in this worker. */
  begin(task: ClaimedTask, run: LoadedRun): void;
  /** Called after these writes are durable. */
  reminded(reminders: readonly ReminderWrite[]): void;
}

export class LocalStarts {
  readonly #deps: LocalStartsDeps;

  constructor(deps: LocalStartsDeps) {
    this.#deps = deps;
  }

  /**
   * Stores the start with a lease before the code runs: the store counts an attempt that ends the process.
   */
  async storeFirst(start: RunStart, pin: ClaimedPin): Promise<StartOutcome> {
    const lease = this.#deps.lease();
    const [outcome] = await this.#deps.store.start([{ ...start, lease, pinned: pin.pins }]);
    if (!isBegunBy(start, outcome!)) return outcome!;
    const task = startedTask(start, outcome!.ref, start.first.count, lease.token, pin.pins);
    try {
      const run = await this.#deps.loader.replay(task);
      this.#deps.begin(task, run);
    } catch (error) {
      if (isLimpetError(error, "ACTIVITY_UNKNOWN")) {
        await endRefused(task, error, this.#deps);
        throw error;
      }
      await returnBlocked(task, error, this.#deps);
    }
    return outcome!;
  }

  /** Starts the run and writes its first step in one transaction. */
  async withFirstStep(
    start: RunStart,
    started: Started,
    at: number,
    pin: ClaimedPin,
  ): Promise<StartOutcome | undefined> {
    const { store, replayer, task: taskDeps } = this.#deps;
    const execution = replayer.execution(start.type);
    const run = new LoadedRun(0, execution, 0, 0);
    run.at = at;
    try {
      await execution.begin(started, at);
    } catch (error) {
      // A run that no worker with this code can continue is not started.
      if (isLimpetError(error, "ACTIVITY_UNKNOWN")) throw error;
      // The run starts all the same; its task records the error of the code.
      return undefined;
    }
    const { batch, reminders, isSimple } = firstStep(run, started, at, taskDeps);
    // Further commands are written with the first task.
    if (!isSimple) return undefined;
    const lease = this.#deps.lease();
    const { pins: pinned } = pin;
    const [outcome] = await store.start([
      { ...start, first: batch, lease, pinned, reminders: [...start.reminders, ...reminders] },
    ]);
    this.#deps.reminded(reminders);
    if (isBegunBy(start, outcome!)) {
      run.as(outcome!.ref, batch.count);
      run.execution.events = run.last;
      run.execution.bytes = batch.data.length;
      this.#deps.begin(startedTask(start, run.ref, run.last, lease.token, pinned), run);
    }
    return outcome!;
  }

  /**
   * The pin of a start, and the pin that it gets by a start here; undefined: it cannot start here.
   */
  pinOf({ type, delayMs, queue, pinned }: RunStart): ClaimedPin | undefined {
    if (delayMs > 0 || queue !== this.#deps.queue) return undefined;
    return this.#deps.types.find((one) => one.type === type)?.pins.find((one) => one.pinned === pinned);
  }
}

/** This start or an earlier attempt at it created the run, and it is still open. */
const isBegunBy = ({ runId }: RunStart, outcome: StartOutcome): boolean =>
  outcome.isNew && outcome.runId === runId && outcome.status === "running";

/** The task of a run that this process started and holds. */
const startedTask = (
  { namespace, workflowId, runId, type }: RunStart,
  ref: number,
  last: number,
  token: string,
  pinned: string | undefined,
): ClaimedTask => ({
  namespace,
  workflowId,
  runId,
  type,
  ref,
  token,
  pinned,
  last,
  taken: 0,
  delivered: 0,
  attempt: 1,
  lost: 0,
  mode: "cold_replay",
});
