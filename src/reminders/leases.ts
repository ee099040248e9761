// Renews and verifies leases of claimed reminders. A reminder may have been replaced, cancelled, or claimed
// by another process. The store reports all three as a lost lease.
import { KeyedBatcher } from "../kernel/batch/keyed-batcher.ts";
import type { ClaimedEntry } from "./claimed.ts";
import type { ReminderPorts } from "./reminder-ports.ts";

/** Renewals within one lease. */
export const RENEWALS_PER_LEASE = 3;

export class Leases {
  readonly #deps: ReminderPorts;
  readonly #leaseMs: number;
  readonly #checking: KeyedBatcher<ClaimedEntry, number | undefined>;

  constructor(leaseMs: number, deps: ReminderPorts) {
    this.#leaseMs = leaseMs;
    this.#deps = deps;
    this.#checking = new KeyedBatcher({ clock: deps.clock, send: (batch) => this.#renew(batch) });
  }

  /** Renews one lease, batched with other checks of the same moment, and retried while the lease lasts. */
  check(entry: ClaimedEntry): Promise<number | undefined> {
    return this.#checking.ask(entry, entry.leaseUntil);
  }

  /** Ends the retries of all checks. */
  end(): void {
    this.#checking.end();
  }

  /**
   * Renews the leases that end before the next renewal. Calls `lost` for each waiting entry without a lease.
   */
  async renewAll(entries: Iterable<ClaimedEntry>, lost: (entry: ClaimedEntry) => void): Promise<void> {
    const { clock, instruments, log } = this.#deps;
    const soon = clock.monotonic() + this.#leaseMs * (1 - 1 / RENEWALS_PER_LEASE);
    const mine = [...entries].filter(
      ({ leaseUntil, isLost, state }) => leaseUntil < soon && !isLost && (state === "waiting" || state === "running"),
    );
    try {
      const untils = mine.length === 0 ? [] : await this.#renew(mine);
      for (const [i, entry] of mine.entries()) {
        const until = untils[i];
        if (until !== undefined) entry.leaseUntil = Math.max(entry.leaseUntil, until);
        else {
          entry.isLost = true;
          instruments.leaseLost(1);
        }
        // A running delivery ends; its outcome does not count.
        if (until === undefined && entry.state === "waiting") lost(entry);
      }
    } catch (err) {
      log.debug("reminder.renewal.failed", { err });
    }
  }

  /** The new end of each lease, on the monotonic clock; undefined: the lease is lost. */
  async #renew(batch: readonly ClaimedEntry[]): Promise<(number | undefined)[]> {
    const { clock, store } = this.#deps;
    const until = clock.monotonic() + this.#leaseMs;
    const claims = batch.map(({ reminder, token }) => ({ generation: reminder.generation, token }));
    const lost = new Set(claims.length === 0 ? [] : await store.renew(claims, this.#leaseMs));
    return batch.map(({ reminder }) => (lost.has(reminder.generation) ? undefined : until));
  }
}
