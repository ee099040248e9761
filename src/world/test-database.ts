// The database of a test's world, and the troubles a test can give it. They last until they are taken back or the world is healed.
import { type Duration, parseDuration } from "../kernel/durations.ts";
import { LimpetError } from "../kernel/errors.ts";
import { type Database, type DatabaseTroubles, NO_TROUBLES } from "./database.ts";
import type { Story } from "./story.ts";

export class TestDatabase {
  readonly #database: Database;
  readonly #story: Story;

  constructor(database: Database, story: Story) {
    this.#database = database;
    this.#story = story;
  }

  /** Answers nobody. What is under way is lost, whether it was done or not. What was committed is kept. */
  goDown(): void {
    this.#story.tell("database", "warn", "goes down");
    this.#database.goDown();
  }

  comeBack(): void {
    this.#story.tell("database", "info", "is back");
    this.#database.comeBack();
  }

  /** This share of what it is asked fails, and nothing has happened. 0 ends it. */
  failing(share = 1): void {
    this.#change(`fails ${percent(share)} of the time`, { failsBefore: shareOf(share, "failing") });
  }

  /** This share of what it is asked is done, and whoever asked is told that it failed. 0 ends it. */
  losingAnswers(share = 1): void {
    this.#change(`loses ${percent(share)} of its answers`, { failsAfter: shareOf(share, "losingAnswers") });
  }

  /** This share of what it is asked takes longer, on average by so much. 0 ends it. */
  slow(by: Duration, share = 1): void {
    this.#change(`is slow ${percent(share)} of the time`, {
      slow: shareOf(share, "slow"),
      slowMs: parseDuration(by, "slow"),
    });
  }

  /** Nothing can be written, as on a full disk. */
  readOnly(isReadOnly = true): void {
    this.#change(isReadOnly ? "can only be read" : "can be written", { isReadOnly });
  }

  /** It is well again. */
  heal(): void {
    this.#story.tell("database", "info", "is well again");
    this.#database.troubles = { ...NO_TROUBLES };
  }

  #change(what: string, troubles: Partial<DatabaseTroubles>): void {
    this.#story.tell("database", "warn", what);
    this.#database.troubles = { ...this.#database.troubles, ...troubles };
  }
}

export const percent = (share: number): string => `${Math.round(share * 100)}%`;

/** Something between never and always. */
export function shareOf(share: number, what: string): number {
  if (typeof share === "number" && share >= 0 && share <= 1) return share;
  throw new LimpetError("OPTION_INVALID", `${what}: ${share} is not a share; write a number from 0 to 1`);
}
