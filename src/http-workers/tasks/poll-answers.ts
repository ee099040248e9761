// Answers to polls by request id: a poll that is repeated because its answer was lost gets the same answer
// while that is valid. Concurrent polls of the same id share one answer.
import type { Clock } from "../../ports/clock.ts";

export class PollAnswers<Answer> {
  readonly #clock: Clock;
  readonly #most: number;
  readonly #keepMs: number;
  readonly #answers = new Map<string, { readonly answer: Promise<Answer | undefined>; until: number }>();

  constructor(clock: Clock, most: number, keepMs: number) {
    this.#clock = clock;
    this.#most = most;
    this.#keepMs = keepMs;
  }

  async ask(name: string | undefined, poll: () => Promise<Answer | undefined>): Promise<Answer | undefined> {
    if (name === undefined) return poll();
    const known = this.#answers.get(name);
    if (known !== undefined && known.until > this.#clock.monotonic()) {
      const answer = await known.answer;
      // The first poll may have been aborted before its end.
      if (answer !== undefined) return answer;
    }
    const entry = { answer: poll(), until: Number.POSITIVE_INFINITY };
    this.#answers.set(name, entry);
    for (const oldest of this.#answers.keys()) {
      if (this.#answers.size <= this.#most) break;
      this.#answers.delete(oldest);
    }
    try {
      const answer = await entry.answer;
      entry.until = this.#clock.monotonic() + this.#keepMs;
      if (answer === undefined) this.#answers.delete(name);
      return answer;
    } catch (error) {
      this.#answers.delete(name);
      throw error;
    }
  }
}
