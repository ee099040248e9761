// A reminder that this process has a lease on, from its claim to its end.
//
//   waiting → checking → waiting → running → settling → waiting, or over
//
// - waiting: in the queue, for its moment or for the moment to ask whether it is still there.
// - checking: the store is asked whether it is still ours: it may have been set anew or cancelled since it was claimed.
// - running: on its way to its handler, or handled.
// - settling: the store is told what became of it.
import type { ClaimedReminder, Tick } from "../ports/store/reminders.ts";

export interface ReminderClaim {
  readonly reminder: ClaimedReminder;
  readonly token: string;
  /** On the monotonic clock. */
  readonly leaseUntil: number;
}

export interface ClaimedEntry {
  readonly reminder: ClaimedReminder;
  /** Of its key. */
  readonly text: string;
  /** Of its claim. */
  token: string;
  tick: Tick;
  /** On the monotonic clock. */
  leaseUntil: number;
  /** Somebody else may have it: what is said of it does not count any more. */
  isLost: boolean;
  /** On the monotonic clock: until then it is known well enough that it is still there. */
  sureUntil: number;
  /** How often something happened that may have changed it. */
  doubts: number;
  /** On the store's clock: when something has to be done about it. Changes only while it is not in the queue. */
  wakeAt: number;
  state: "waiting" | "checking" | "running" | "settling" | "over";
  /** It was claimed once more when what we said of it had been stored and we had not heard so yet. */
  again: ReminderClaim | undefined;
}

/** Two of one actor, or with the same parts in other places, are told apart. */
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
