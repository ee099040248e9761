// Renews and verifies leases of claimed reminders. A reminder may have been replaced, cancelled, or claimed
// by another process. The store reports all three as a lost lease.

import { KeyedBatcher } from "../kernel/batch/keyed-batcher.ts";
import type { Clock } from "../ports/clock.ts";
import type { Reminders } from "../ports/store/reminders.ts";
import type { ClaimedEntry } from "./claimed.ts";

export interface LeaseDeps {
  readonly clock: Clock;
  readonly store: Reminders;
}

export class Leases {
  readonly #deps: LeaseDeps;
  readonly #leaseMs: number;
  readonly #checking: KeyedBatcher<ClaimedEntry, number | undefined>;

  constructor(leaseMs: number, deps: LeaseDeps) {
    this.#leaseMs = leaseMs;
    this.#deps = deps;
    this.#checking = new KeyedBatcher({ clock: deps.clock, send: (batch) => this.renew(batch) });
  }

  /** Renews one lease, batched with other checks of the same moment, and retried while the lease lasts. */
  check(held: ClaimedEntry): Promise<number | undefined> {
    return this.#checking.ask(held, held.leaseUntil);
  }

  /** Ends the retries of all checks. */
  end(): void {
    this.#checking.end();
  }

  /** The new end of each lease, on the monotonic clock; undefined: the lease is lost. */
  async renew(batch: readonly ClaimedEntry[]): Promise<(number | undefined)[]> {
    const { clock, store } = this.#deps;
    const until = clock.monotonic() + this.#leaseMs;
    const claims = batch.map(({ reminder, token }) => ({ generation: reminder.generation, token }));
    const lost = new Set(claims.length === 0 ? [] : await store.renew(claims, this.#leaseMs));
    return batch.map(({ reminder }) => (lost.has(reminder.generation) ? undefined : until));
  }
}
