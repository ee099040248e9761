// Holds the runs whose tasks this worker has: renews their leases, and wakes their tasks when messages may
// have arrived.
import { LimpetError } from "../../kernel/errors.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { InboxMessage, Workflows } from "../../ports/store/workflows.ts";
import type { LoadedRun } from "./loaded-run.ts";

export interface LoadedRunsDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Workflows;
}

/** Renewals within one lease. */
const RENEWALS = 3;

export class LoadedRuns {
  readonly #leaseMs: number;
  readonly #deps: LoadedRunsDeps;
  readonly #runs = new Map<number, LoadedRun>();
  #renewal: Timer | undefined;

  constructor(leaseMs: number, deps: LoadedRunsDeps) {
    this.#leaseMs = leaseMs;
    this.#deps = deps;
  }

  has(ref: number): boolean {
    return this.#runs.has(ref);
  }

  add(run: LoadedRun): void {
    this.#runs.set(run.ref, run);
    this.#renewLater();
  }

  remove(run: LoadedRun): void {
    if (this.#runs.get(run.ref) === run) this.#runs.delete(run.ref);
  }

  /** A message may have arrived for the run; false: the run is not here. */
  nudge(ref: number): boolean {
    const run = this.#runs.get(ref);
    run?.nudge();
    return run !== undefined;
  }

  /** These messages may have arrived. Only the runs that they address are nudged. */
  nudgeReceivers(messages: readonly InboxMessage[]): void {
    const addressed = new Set(messages.map(({ workflowId }) => workflowId));
    for (const run of this.#runs.values()) if (addressed.has(run.workflowId)) run.nudge();
  }

  nudgeAll(): void {
    for (const run of this.#runs.values()) run.nudge();
  }

  /** Returns all tasks, so that other workers can claim them at once, and aborts their activities. */
  async giveBackAll(reason: LimpetError): Promise<void> {
    const runs = [...this.#runs.values()];
    for (const run of runs) run.abandon(() => reason);
    const returns = runs.map(({ ref, token }) => ({ ref, token: token!, pauseMs: 0, problem: undefined }));
    if (returns.length > 0) await this.#deps.store.giveBack(returns).catch(() => {});
    this.nudgeAll();
  }

  stop(): void {
    this.#renewal?.cancel();
  }

  #renewLater(): void {
    if (this.#renewal !== undefined || this.#runs.size === 0) return;
    this.#renewal = this.#deps.clock.after(this.#leaseMs / RENEWALS, () => {
      void this.#renew()
        .catch((err) => this.#deps.log.warn("workflow.renewal.failed", { err }))
        .finally(() => {
          this.#renewal = undefined;
          this.#renewLater();
        });
    });
  }

  async #renew(): Promise<void> {
    const tasks = [...this.#runs.values()].map(({ ref, token }) => ({ ref, token: token! }));
    if (tasks.length === 0) return;
    for (const ref of await this.#deps.store.renew(tasks, this.#leaseMs)) {
      this.#runs.get(ref)?.abandon(() => new LimpetError("LEASE_LOST", "another worker may have the run"));
    }
    // Messages from other processes may have arrived without a notification.
    this.nudgeAll();
  }
}
