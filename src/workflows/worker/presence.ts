// Registers a worker with periodic heartbeats, and learns whether its build is drained.
import type { Clock, Timer } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { WorkerRow, Workflows } from "../../ports/store/workflows.ts";

export interface PresenceDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Workflows;
  /** Whether an operator drained this build of this queue. */
  isDrained(queue: string, build: string): Promise<boolean>;
}

/** Heartbeats within one lease. */
const HEARTBEATS = 6;
/** A worker without a heartbeat for this many intervals counts as stale: its sticky runs are free. */
const STALE_HEARTBEATS = 3;

export const staleAfter = (leaseMs: number): number => (leaseMs / HEARTBEATS) * STALE_HEARTBEATS;

export class WorkerPresence {
  readonly #leaseMs: number;
  readonly #deps: PresenceDeps;
  readonly #row: () => Omit<WorkerRow, "isDraining">;
  #isThere = false;
  /** The store may have a row of this worker. */
  #isAnnounced = false;
  #isDrained = false;
  #timer: Timer | undefined;
  /** The build is no longer drained. */
  resumed: () => void = () => {};

  constructor(leaseMs: number, row: () => Omit<WorkerRow, "isDraining">, deps: PresenceDeps) {
    this.#leaseMs = leaseMs;
    this.#row = row;
    this.#deps = deps;
  }

  get isDrained(): boolean {
    return this.#isDrained;
  }

  async begin(): Promise<void> {
    this.#isAnnounced = true;
    await this.#update();
    this.#isThere = true;
    this.#beat();
  }

  /** A failed start may have written a row all the same. */
  async withdraw(): Promise<void> {
    if (this.#isAnnounced) await this.end();
  }

  /** The worker claims no more tasks. */
  async leave(): Promise<void> {
    this.#isThere = false;
    this.#timer?.cancel();
    await this.#deps.store.seen({ ...this.#row(), isDraining: true }).catch(() => {});
  }

  /** Deletes the worker's row, and with it the affinity of its runs. */
  async end(): Promise<void> {
    this.#isAnnounced = false;
    const { namespace, worker } = this.#row();
    await this.#deps.store.forgetWorker(namespace, worker).catch(() => {});
  }

  async #update(): Promise<void> {
    const row = this.#row();
    // A worker without a build cannot be drained.
    const wasDrained = this.#isDrained;
    this.#isDrained = row.build !== "" && (await this.#deps.isDrained(row.queue, row.build));
    await this.#deps.store.seen({ ...row, isDraining: this.#isDrained });
    if (wasDrained && !this.#isDrained) this.resumed();
  }

  #beat(): void {
    this.#timer = this.#deps.clock.after(this.#leaseMs / HEARTBEATS, () => {
      void this.#update()
        .catch((err) => this.#deps.log.warn("workflow.heartbeat.failed", { err }))
        .finally(() => {
          if (this.#isThere) this.#beat();
        });
    });
  }
}
