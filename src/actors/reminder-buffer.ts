// Reminders that the running turn sets and cancels: kept until it ends, written together with its state, and taken back if it throws.
import type { ReminderWrite } from "../ports/reminders.ts";

export class ReminderBuffer {
  #writes: ReminderWrite[] = [];

  add(write: ReminderWrite): void {
    this.#writes.push(write);
  }

  /** The last word of this turn on a reminder. */
  find(name: string): ReminderWrite | undefined {
    return this.#writes.findLast(({ key }) => key.name === name);
  }

  mark(): number {
    return this.#writes.length;
  }

  rollback(mark: number): void {
    this.#writes.length = mark;
  }

  /** The last word on each. */
  all(): readonly ReminderWrite[] {
    return [...new Map(this.#writes.map((write) => [write.key.name, write])).values()];
  }

  /** Ends the turn: what is to be written, or `undefined` when there is nothing. */
  take(): readonly ReminderWrite[] | undefined {
    if (this.#writes.length === 0) return undefined;
    const all = this.all();
    this.#writes = [];
    return all;
  }
}
