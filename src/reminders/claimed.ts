// Reminders that this process has a lease on, each from its claim to its end.
//
//   waiting → checking → waiting → running → settling → waiting, or over
//
// - waiting: in the queue, for its due time or for the check before it.
// - checking: the store verifies the lease, because the reminder may have been replaced or cancelled since
//   its claim.
// - running: on its way to its handler, or in it.
// - settling: the outcome is being written to the store.
import type { ClaimedReminder, ReminderKey, Tick } from "../ports/store/reminders.ts";

export interface ReminderClaim {
  readonly reminder: ClaimedReminder;
  readonly token: string;
  /** On the monotonic clock. */
  readonly leaseUntil: number;
}

export interface ClaimedEntry {
  readonly reminder: ClaimedReminder;
  /** The text of its key. */
  readonly text: string;
  /** The token of its claim. */
  readonly token: string;
  tick: Tick;
  /** On the monotonic clock. */
  leaseUntil: number;
  /** Another process may have the reminder: the store rejects every further write of this claim. */
  isLost: boolean;
  /** End of the time, on the monotonic clock, for which the last verification counts. */
  verifiedUntil: number;
  /** Counts events that may have changed the row. */
  invalidations: number;
  /** The time of the next action, on the store's clock. Changes only while the entry is not in the queue. */
  wakeAt: number;
  state: "waiting" | "checking" | "running" | "settling" | "over";
  /** A second claim of the row: its outcome was stored, and its acknowledgement had not arrived. */
  again: ReminderClaim | undefined;
}

/** The claimed reminders of a process, by generation and by key. */
export class ClaimedEntries {
  readonly #byGeneration = new Map<number, ClaimedEntry>();
  /** The newest entry of each key, by the text of the key. */
  readonly #byKey = new Map<string, ClaimedEntry>();

  get size(): number {
    return this.#byGeneration.size;
  }

  values(): ClaimedEntry[] {
    return [...this.#byGeneration.values()];
  }

  ofGeneration(generation: number): ClaimedEntry | undefined {
    return this.#byGeneration.get(generation);
  }

  ofKey(key: ReminderKey): ClaimedEntry | undefined {
    return this.size === 0 ? undefined : this.#byKey.get(keyText(key));
  }

  /**
   * A restored store assigns generations again, so an entry of the same generation may be another reminder.
   */
  has({ generation, key }: ClaimedReminder): boolean {
    return this.#byGeneration.get(generation)?.text === keyText(key);
  }

  add({ reminder, token, leaseUntil }: ReminderClaim): ClaimedEntry {
    const entry: ClaimedEntry = {
      reminder,
      text: keyText(reminder.key),
      token,
      tick: reminder.tick,
      leaseUntil,
      isLost: false,
      verifiedUntil: 0,
      invalidations: 0,
      wakeAt: 0,
      state: "waiting",
      again: undefined,
    };
    this.#byGeneration.set(reminder.generation, entry);
    this.#byKey.set(entry.text, entry);
    return entry;
  }

  remove(entry: ClaimedEntry): void {
    this.#byGeneration.delete(entry.reminder.generation);
    if (this.#byKey.get(entry.text) === entry) this.#byKey.delete(entry.text);
  }
}

/** Distinguishes reminders of one actor, and keys with the same parts in other places. */
const keyText = ({ type, id, name }: ReminderKey): string => `${type.length}:${id.length}:${type}${id}${name}`;
