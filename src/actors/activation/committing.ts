// A turn that waits for its commit, with the reply that leaves when it is durable. One object instead of a
// promise and two closures, because every durable turn makes one.

import type { BatchCaller } from "../../kernel/batch/fenced-batcher.ts";
import type { SentReminders } from "../../ports/reminder-writer.ts";
import { type CommitOutcome, verdictOf } from "../../ports/store/store.ts";
import type { TurnEffects } from "../outbox/turn-outbox.ts";
import type { Incarnation } from "./incarnation.ts";
import type { Turn } from "./turn.ts";

export class Committing implements BatchCaller<CommitOutcome> {
  readonly #life: Incarnation;
  readonly #turn: Turn;
  readonly #reply: unknown;
  readonly #effects: TurnEffects | undefined;
  readonly #sent: SentReminders | undefined;

  constructor(
    life: Incarnation,
    turn: Turn,
    reply: unknown,
    effects: TurnEffects | undefined,
    sent: SentReminders | undefined,
  ) {
    this.#life = life;
    this.#turn = turn;
    this.#reply = reply;
    this.#effects = effects;
    this.#sent = sent;
  }

  resolve(outcome: CommitOutcome): void {
    const verdict = verdictOf(outcome);
    if (verdict !== "committed") this.#sent?.failed();
    else this.#sent?.committed(typeof outcome === "string" ? undefined : outcome.generations);
    this.#life.committed(this.#turn, verdict, this.#reply, this.#effects);
  }

  reject(error: unknown): void {
    this.#sent?.failed(error);
    this.#life.lost(this.#turn, "store", error);
  }
}
