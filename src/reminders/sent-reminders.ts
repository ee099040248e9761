// Reminders that are written with a commit. Those that are due soon and belong to this process carry a lease
// of it, and a place is reserved for each until the outcome of the commit is known. After a lost answer the
// writes are read back, so that no row stays leased to a process that does not know of it.
import { isLimpetError } from "../kernel/errors.ts";
import type { SentReminders, SetReminder } from "../ports/reminder-writer.ts";
import type { OwnLease, ReminderKey, ReminderWrite, StoredReminder } from "../ports/store/reminders.ts";
import type { ReminderWriterDeps } from "./writer.ts";

type LeasedWrite = SetReminder & { readonly lease: OwnLease };

/** Reads a stored reminder, with retries. */
export type LookUp = (key: ReminderKey) => Promise<StoredReminder | undefined>;

export class LeasedReminders implements SentReminders {
  readonly writes: readonly ReminderWrite[];
  readonly #deps: ReminderWriterDeps;
  readonly #lookUp: LookUp;
  readonly #askedAt: number;

  constructor(writes: readonly ReminderWrite[], deps: ReminderWriterDeps, lookUp: LookUp) {
    this.#deps = deps;
    this.#lookUp = lookUp;
    this.#askedAt = deps.clock.monotonic();
    this.writes = writes.map((write) => {
      const lease = write.kind === "set" ? deps.ownLease(write.key.type, write.tick.at) : undefined;
      return lease === undefined ? write : ({ ...write, lease } as LeasedWrite);
    });
  }

  committed(generations: readonly (number | undefined)[] | undefined): void {
    const { invalidate, expect } = this.#deps;
    for (const [i, write] of this.writes.entries()) {
      invalidate(write.key);
      if (isLeased(write)) this.#leased(write, generations?.[i]);
      else if (write.kind === "set") expect(write.tick.at);
    }
  }

  #leased(write: LeasedWrite, generation: number | undefined): void {
    if (generation === undefined) {
      void this.#find(write);
      return;
    }
    const { key, tick, content, lease } = write;
    this.#deps.unreserve(key.type);
    this.#deps.adopt({ generation, key, tick, ...content }, lease, this.#askedAt);
  }

  failed(error?: unknown): void {
    const isAmbiguous = isLimpetError(error, "COMMIT_UNKNOWN");
    for (const write of this.writes) {
      if (!isLeased(write)) continue;
      if (isAmbiguous) void this.#find(write);
      else this.#deps.unreserve(write.key.type);
    }
  }

  /** A row that cannot be read, or is stored later, is free when its lease expires. */
  async #find({ key, tick, lease }: LeasedWrite): Promise<void> {
    const { unreserve, adopt, invalidate, expect } = this.#deps;
    const stored = await this.#lookUp(key).catch(() => undefined);
    unreserve(key.type);
    if (stored?.leasedUntil === undefined) {
      expect(stored?.tick.at ?? tick.at);
      return;
    }
    adopt(stored, lease, this.#askedAt);
    // It may be a later reminder with another lease: the processor verifies the lease before the delivery.
    invalidate(key);
  }
}

const isLeased = (write: ReminderWrite): write is LeasedWrite => write.kind === "set" && write.lease !== undefined;
