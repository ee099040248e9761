// Handles tasks whose earlier attempts ended with their lease, mostly because their process died. After a few
// such attempts the run is parked: a worker that claims it does not run its code. Until then such a task is a
// suspect: it may be the one that ends processes.
//
// A process that dies loses all of its tasks, and perhaps only one of them is to blame. So a worker begins
// one suspect at a time, and returns the others first: a task that only shared a process with the bad one is
// not counted twice.
import { LimpetError } from "../../kernel/errors.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { ClaimedTask, StoredRun, Workflows } from "../../ports/store/workflows.ts";

/** The prefix of the reason that the task of such a run records. */
const PARKED = "parked: attempts lost: ";

export const isParkedByLosses = (problem: string | undefined): boolean => problem?.startsWith(PARKED) === true;

/** Throws WORKFLOW_ATTEMPTS_LOST when the code must not run again. */
export function checkAttempts({ workflowId, lost }: ClaimedTask, maxLost: number): void {
  if (lost < maxLost) return;
  const why = `${lost} attempts in a row ended without an answer, because their process died or lost its lease`;
  const what = `find the cause, then run "limpet workflows ${workflowId} --wake" to hand the run out again`;
  throw new LimpetError("WORKFLOW_ATTEMPTS_LOST", `${PARKED}${why} (worker.maxLostAttempts is ${maxLost}); ${what}`);
}

/**
 * Throws WORKFLOW_ATTEMPTS_LOST for a parked run: a query replays the code, which may end this process too.
 */
export function checkQueryable({ workflowId, task }: StoredRun): void {
  if (!isParkedByLosses(task?.problem)) return;
  throw new LimpetError(
    "WORKFLOW_ATTEMPTS_LOST",
    `workflow ${workflowId} does not answer queries while it is ${task?.problem}`,
  );
}

/** After this long without a crash or a write, a suspect no longer delays the others. */
const SUSPECT_MS = 5_000;
/** The distance between the times at which returned suspects are ready again. */
const APART_MS = 50;

export interface SuspectsDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Pick<Workflows, "giveBack">;
}

export class Suspects {
  readonly #maxLost: number;
  readonly #deps: SuspectsDeps;
  /** The suspect that each worker runs. */
  readonly #begun = new Map<string, { readonly ref: number; readonly since: number }>();

  constructor(maxLost: number, deps: SuspectsDeps) {
    this.#maxLost = maxLost;
    this.#deps = deps;
  }

  /**
   * The tasks that this worker may begin now. The others are returned, which does not count as an attempt.
   */
  async admit(worker: string, tasks: readonly ClaimedTask[]): Promise<readonly ClaimedTask[]> {
    // Nearly always. A task to be parked is harmless: its code does not run.
    if (tasks.every((task) => !this.#isSuspect(task))) return tasks;
    const suspects = tasks.filter((task) => this.#isSuspect(task)).sort((a, b) => a.lost - b.lost);
    // A suspect that is claimed again was lost once more.
    for (const { ref } of suspects) this.passed(worker, ref);
    const first = this.#isBusy(worker) ? undefined : suspects[0];
    if (first !== undefined) this.#begun.set(worker, { ref: first.ref, since: this.#deps.clock.monotonic() });
    const others = suspects.filter((task) => task !== first);
    await this.#giveBack(others);
    return tasks.filter((task) => !others.includes(task));
  }

  /** A step of the suspect is durable, or its task has ended. */
  passed(worker: string, ref: number): void {
    if (this.#begun.get(worker)?.ref === ref) this.#begun.delete(worker);
  }

  #isSuspect({ lost }: ClaimedTask): boolean {
    return lost > 0 && lost < this.#maxLost;
  }

  #isBusy(worker: string): boolean {
    const begun = this.#begun.get(worker);
    return begun !== undefined && this.#deps.clock.monotonic() - begun.since < SUSPECT_MS;
  }

  async #giveBack(tasks: readonly ClaimedTask[]): Promise<void> {
    if (tasks.length === 0) return;
    const pauseOf = (place: number): number => (place + 1) * APART_MS;
    const returns = tasks.map(({ ref, token }, i) => ({ ref, token, pauseMs: pauseOf(i), problem: undefined }));
    await this.#deps.store.giveBack(returns).catch((err: unknown) => {
      this.#deps.log.warn("workflow.return.failed", { err });
    });
  }
}
