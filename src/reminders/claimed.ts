// A reminder that this process has a lease on, from its claim to its end.
//
//   waiting → checking → waiting → running → settling → waiting, or over
//
// - waiting: in the queue, for its due time or for the check before it.
// - checking: the store verifies the lease, because the reminder may have been replaced or cancelled since
//   its claim.
// - running: on its way to its handler, or in it.
// - settling: the outcome is being written to the store.
import type { ClaimedReminder, Tick } from "../ports/store/reminders.ts";

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
  token: string;
  tick: Tick;
  /** On the monotonic clock. */
  leaseUntil: number;
  /** Another process may have the reminder: the store rejects every further write of this claim. */
  isLost: boolean;
  /** End of the time, on the monotonic clock, for which the last verification counts. */
  sureUntil: number;
  /** Counts events that may have changed the row. */
  doubts: number;
  /** The time of the next action, on the store's clock. Changes only while the entry is not in the queue. */
  wakeAt: number;
  state: "waiting" | "checking" | "running" | "settling" | "over";
  /** A second claim of the row: its outcome was stored, and its acknowledgement had not arrived. */
  again: ReminderClaim | undefined;
}

/** Distinguishes reminders of one actor, and keys with the same parts in other places. */
export const keyText = ({ key: { type, id, name } }: Pick<ClaimedReminder, "key">): string =>
  `${type.length}:${id.length}:${type}${id}${name}`;

export const heldOf = (reminder: ClaimedReminder, token: string, tick: Tick, leaseUntil: number): ClaimedEntry => ({
  reminder,
  text: keyText(reminder),
  token,
  tick,
  leaseUntil,
  isLost: false,
  sureUntil: 0,
  doubts: 0,
  wakeAt: 0,
  state: "waiting",
  again: undefined,
});
