// What was handled in one process: each item has a number, and is to come once. Every contender's handler does this and nothing else.
import { monotonicMs, wallOffset } from "./moments.ts";

export type TallyQuestion = { readonly begin: number } | "handled" | "report";

export interface TallyReport {
  /** Number and moment of each, one behind the other, in the order in which they came. */
  readonly hits: readonly number[];
  /** Milliseconds since 1970 minus those of the moments. */
  readonly wallOffset: number;
}

export class Tally {
  #hits = new Float64Array(0);
  #handled = 0;

  /** Notes that this one was handled. Whatever comes when nobody has begun is not counted. */
  hit(item: number): void {
    const at = 2 * this.#handled;
    if (at >= this.#hits.length) return;
    this.#hits[at] = item;
    this.#hits[at + 1] = monotonicMs();
    this.#handled++;
  }

  answer(question: TallyQuestion): unknown {
    if (question === "handled") return this.#handled;
    if (question === "report") {
      const hits = Array.from(this.#hits.subarray(0, 2 * this.#handled));
      return { hits, wallOffset: wallOffset() } satisfies TallyReport;
    }
    // Some room for what comes twice.
    this.#hits = new Float64Array(2 * (2 * question.begin + 1_000));
    this.#handled = 0;
    return undefined;
  }
}
