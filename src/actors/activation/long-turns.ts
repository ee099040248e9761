// The long turns that ended last, by name: one of them may have blocked the event loop.

/** A shorter turn blocks nothing worth a line in the log. */
export const LONG_MS = 1_000;
const REMEMBERED = 32;

interface LongTurn {
  readonly label: string;
  readonly startedAt: number;
  readonly endedAt: number;
}

export class LongTurns {
  readonly #turns: LongTurn[] = [];

  ended(label: string, startedAt: number, endedAt: number): void {
    this.#turns.push({ label, startedAt, endedAt });
    if (this.#turns.length > REMEMBERED) this.#turns.shift();
  }

  /** Turns that began at or before `since` and ended after it. */
  across(since: number): readonly LongTurn[] {
    return this.#turns.filter(({ startedAt, endedAt }) => startedAt <= since && endedAt > since);
  }
}
