// The database of a test's world, with its faults. They last until they are ended or the world is healed.
import { type Duration, parseDuration } from "../kernel/durations.ts";
import { LimpetError } from "../kernel/errors.ts";
import { type Database, type DatabaseTroubles, NO_TROUBLES } from "./database/database.ts";
import type { Story } from "./story.ts";

export class TestDatabase {
  readonly #database: Database;
  readonly #story: Story;

  constructor(database: Database, story: Story) {
    this.#database = database;
    this.#story = story;
  }

  /** Stops answering. Requests in flight are lost, whether or not they took effect. Commits are kept. */
  goDown(): void {
    this.#story.record("database", "warn", "goes down");
    this.#database.goDown();
  }

  comeBack(): void {
    this.#story.record("database", "info", "is back");
    this.#database.comeBack();
  }

  /** This share of requests fails without an effect. 0 ends it. */
  failing(share = 1): void {
    this.#change(`fails ${percent(share)} of the time`, { failsBefore: shareOf(share, "failing") });
  }

  /** This share of requests takes effect and fails for its client. 0 ends it. */
  losingAnswers(share = 1): void {
    this.#change(`loses ${percent(share)} of its answers`, { failsAfter: shareOf(share, "losingAnswers") });
  }

  /** This share of requests takes longer, by this mean delay. 0 ends it. */
  slow(by: Duration, share = 1): void {
    this.#change(`is slow ${percent(share)} of the time`, {
      slow: shareOf(share, "slow"),
      slowMs: parseDuration(by, "slow"),
    });
  }

  /** The database rejects writes, as on a full disk. */
  readOnly(isReadOnly = true): void {
    this.#change(isReadOnly ? "can only be read" : "can be written", { isReadOnly });
  }

  /** Ends all faults of the database. */
  heal(): void {
    this.#story.record("database", "info", "is well again");
    this.#database.troubles = { ...NO_TROUBLES };
  }

  #change(what: string, troubles: Partial<DatabaseTroubles>): void {
    this.#story.record("database", "warn", what);
    this.#database.troubles = { ...this.#database.troubles, ...troubles };
  }
}

export const percent = (share: number): string => `${Math.round(share * 100)}%`;

/** Validates a share from 0 to 1. */
export function shareOf(share: number, what: string): number {
  if (typeof share === "number" && share >= 0 && share <= 1) return share;
  throw new LimpetError("OPTION_INVALID", `${what}: ${share} is not a share; write a number from 0 to 1`);
}
