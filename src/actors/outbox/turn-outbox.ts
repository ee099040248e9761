// Buffers the effects of the running turn: reminders that it sets and cancels, workflows that it starts and
// signals. They are written together with the state when the turn ends, and dropped if it throws.
import type { ReminderWrite } from "../../ports/store/reminders.ts";
import type { Commit } from "../../ports/store/store.ts";
import type { InboxMessage, RunStart } from "../../ports/store/workflows.ts";

export type TurnEffects = Pick<Commit, "reminders" | "starts" | "messages">;

type Entry =
  | { readonly kind: "reminder"; readonly write: ReminderWrite }
  | { readonly kind: "start"; readonly start: RunStart }
  | { readonly kind: "message"; readonly message: InboxMessage };

export class TurnOutbox {
  #entries: Entry[] = [];

  add(write: ReminderWrite): void {
    this.#entries.push({ kind: "reminder", write });
  }

  start(start: RunStart): void {
    this.#entries.push({ kind: "start", start });
  }

  send(message: InboxMessage): void {
    this.#entries.push({ kind: "message", message });
  }

  /** The last write of this turn to a reminder. */
  find(name: string): ReminderWrite | undefined {
    return this.reminders().find(({ key }) => key.name === name);
  }

  savepoint(): number {
    return this.#entries.length;
  }

  rollback(savepoint: number): void {
    this.#entries.length = savepoint;
  }

  /** The last write to each reminder. */
  reminders(): readonly ReminderWrite[] {
    const writes = this.#entries.flatMap((entry) => (entry.kind === "reminder" ? [entry.write] : []));
    return [...new Map(writes.map((write) => [write.key.name, write])).values()];
  }

  /** Ends the turn: returns the buffered writes, or `undefined` if there are none. */
  take(): TurnEffects | undefined {
    if (this.#entries.length === 0) return undefined;
    const reminders = this.reminders();
    const starts = this.#entries.flatMap((entry) => (entry.kind === "start" ? [entry.start] : []));
    const messages = this.#entries.flatMap((entry) => (entry.kind === "message" ? [entry.message] : []));
    this.#entries = [];
    return { reminders: some(reminders), starts: some(starts), messages: some(messages) };
  }
}

const some = <T>(writes: readonly T[]): readonly T[] | undefined => (writes.length > 0 ? writes : undefined);
