// Writes the outcomes of ticks, batched. A write is retried while its lease lasts, because the store rejects
// it afterwards.
import { KeyedBatcher } from "../kernel/batch/keyed-batcher.ts";
import type { Settlement, TickOutcome } from "../ports/store/reminders.ts";
import type { ClaimedEntry } from "./claimed.ts";
import type { ReminderPorts } from "./reminder-ports.ts";

export class Settler {
  readonly #deps: ReminderPorts;
  readonly #batcher: KeyedBatcher<Settlement, boolean>;
  #isEnded = false;

  constructor(deps: ReminderPorts) {
    this.#deps = deps;
    this.#batcher = new KeyedBatcher({ clock: deps.clock, send: (batch) => deps.store.settle(batch) });
  }

  /** `then` gets false if the store rejected the outcome, and undefined if the store did not answer. */
  settle(entry: ClaimedEntry, outcome: TickOutcome, then: (counted: boolean | undefined) => void): void {
    const { clock, instruments, log } = this.#deps;
    const { generation, key } = entry.reminder;
    entry.state = "settling";
    const until = this.#isEnded ? clock.monotonic() : entry.leaseUntil;
    this.#batcher.ask({ generation, token: entry.token, ...outcome }, until).then(
      (counted) => {
        if (!counted) instruments.replaced(1);
        then(counted);
      },
      (err: unknown) => {
        log.warn("reminder.settle.failed", { ...key, err });
        then(undefined);
      },
    );
  }

  /** Ends all retries: from now on each outcome gets one attempt. */
  end(): void {
    this.#isEnded = true;
    this.#batcher.end();
  }
}
