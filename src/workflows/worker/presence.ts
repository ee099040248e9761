// That a worker is there, and what others may know of it: told to the store now and then while it lives. It hears in return whether its
// build shall get no more work.
import type { Clock, Timer } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { WorkerRow, Workflows } from "../../ports/workflows.ts";

export interface PresenceDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Workflows;
  /** Somebody has said that this build of this queue shall get no more work. */
  isDrained(queue: string, build: string): Promise<boolean>;
}

/** Heartbeats in the time of one lease. */
const HEARTBEATS = 6;
/** A worker that was not seen for so many heartbeats has nothing in memory any more, as far as others are concerned. */
const STALE_HEARTBEATS = 3;

export const staleAfter = (leaseMs: number): number => (leaseMs / HEARTBEATS) * STALE_HEARTBEATS;

export class WorkerPresence {
  readonly #leaseMs: number;
  readonly #deps: PresenceDeps;
  readonly #row: () => Omit<WorkerRow, "isDraining">;
  #isThere = false;
  /** The store may have a row of it. */
  #isAnnounced = false;
  #isDrained = false;
  #timer: Timer | undefined;
  /** It gets work again. */
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
    await this.#tell();
    this.#isThere = true;
    this.#beat();
  }

  /** A start that failed may have written a row all the same. */
  async withdraw(): Promise<void> {
    if (this.#isAnnounced) await this.end();
  }

  /** It takes nothing more. */
  async leave(): Promise<void> {
    this.#isThere = false;
    this.#timer?.cancel();
    await this.#deps.store.seen({ ...this.#row(), isDraining: true }).catch(() => {});
  }

  /** It is gone, and what it had in memory with it. */
  async end(): Promise<void> {
    this.#isAnnounced = false;
    const { namespace, worker } = this.#row();
    await this.#deps.store.forgetWorker(namespace, worker).catch(() => {});
  }

  async #tell(): Promise<void> {
    const row = this.#row();
    // Nobody can drain what has no name.
    const wasDrained = this.#isDrained;
    this.#isDrained = row.build !== "" && (await this.#deps.isDrained(row.queue, row.build));
    await this.#deps.store.seen({ ...row, isDraining: this.#isDrained });
    if (wasDrained && !this.#isDrained) this.resumed();
  }

  #beat(): void {
    this.#timer = this.#deps.clock.after(this.#leaseMs / HEARTBEATS, () => {
      void this.#tell()
        .catch((err) => this.#deps.log.warn("workflow.heartbeat.failed", { err }))
        .finally(() => {
          if (this.#isThere) this.#beat();
        });
    });
  }
}
