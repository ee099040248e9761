// A turn that waits for its commit, with the reply that leaves when it is durable. One object instead of a promise and
// two closures, because every durable turn makes one.
import type { CommitOutcome } from "../ports/store.ts";
import type { Caller } from "./group-call.ts";
import type { Incarnation } from "./incarnation.ts";
import type { Turn } from "./turn.ts";

export class Committing implements Caller<CommitOutcome> {
  readonly #life: Incarnation;
  readonly #turn: Turn;
  readonly #reply: unknown;

  constructor(life: Incarnation, turn: Turn, reply: unknown) {
    this.#life = life;
    this.#turn = turn;
    this.#reply = reply;
  }

  resolve(outcome: CommitOutcome): void {
    this.#life.committed(this.#turn, outcome, this.#reply);
  }

  reject(error: unknown): void {
    this.#life.lost(this.#turn, "store", error);
  }
}
