// Records the longest time that each actor went without an answer during the observation. A failed call is no
// answer.

export class GapWatch {
  readonly #lastSent: Float64Array;
  readonly #lastAnswer: Float64Array;
  readonly #longest: Float64Array;
  #watching = false;
  #failures = 0;
  #firstFailure: unknown;

  constructor(actors: number, now = performance.now()) {
    this.#lastSent = new Float64Array(actors).fill(Number.NEGATIVE_INFINITY);
    this.#lastAnswer = new Float64Array(actors).fill(now);
    this.#longest = new Float64Array(actors);
  }

  get failures(): number {
    return this.#failures;
  }

  /** The first failure during the observation. */
  get firstFailure(): unknown {
    return this.#firstFailure;
  }

  answered(actor: number, sent: number, now: number): void {
    if (this.#watching) this.#note(actor, now);
    this.#lastSent[actor] = sent;
    this.#lastAnswer[actor] = now;
  }

  failed(error: unknown): void {
    if (!this.#watching) return;
    this.#failures++;
    this.#firstFailure ??= error;
  }

  /** Gaps that are open at this moment count from their beginning. */
  begin(): void {
    this.#watching = true;
    this.#longest.fill(0);
    this.#failures = 0;
  }

  /** Gaps that are open at this moment count up to now. */
  end(now = performance.now()): void {
    for (const actor of this.#longest.keys()) this.#note(actor, now);
    this.#watching = false;
  }

  longest(which: (actor: number) => boolean): number {
    return this.#longest.reduce((longest, gap, actor) => (which(actor) ? Math.max(longest, gap) : longest), 0);
  }

  allAnsweredSince(moment: number): boolean {
    return this.#lastSent.every((sent) => sent >= moment);
  }

  #note(actor: number, now: number): void {
    const gap = now - this.#lastAnswer[actor]!;
    if (gap > this.#longest[actor]!) this.#longest[actor] = gap;
  }
}
