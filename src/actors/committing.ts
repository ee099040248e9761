// A turn that waits for its commit, with the reply that leaves when it is durable. One object instead of a promise and
// two closures, because every durable turn makes one.
import type { ReminderWrite } from "../ports/reminders.ts";
import type { CommitOutcome } from "../ports/store.ts";
import type { Caller } from "./group-call.ts";
import type { Incarnation } from "./incarnation.ts";
import type { Turn } from "./turn.ts";

export class Committing implements Caller<CommitOutcome> {
  readonly #life: Incarnation;
  readonly #turn: Turn;
  readonly #reply: unknown;
  readonly #reminders: readonly ReminderWrite[] | undefined;

  constructor(life: Incarnation, turn: Turn, reply: unknown, reminders: readonly ReminderWrite[] | undefined) {
    this.#life = life;
    this.#turn = turn;
    this.#reply = reply;
    this.#reminders = reminders;
  }

  resolve(outcome: CommitOutcome): void {
    this.#life.committed(this.#turn, outcome, this.#reply, this.#reminders);
  }

  reject(error: unknown): void {
    this.#life.lost(this.#turn, "store", error);
  }
}
