// Handled items of one process: each has a number, and must come once. Every contender's handler does this
// and nothing else.
import { monotonicMs, wallOffset } from "./moments.ts";

export type TallyQuestion = { readonly begin: number } | "handled" | "report";

export interface TallyReport {
  /** Number and time of each, one behind the other, in the order of handling. */
  readonly hits: readonly number[];
  /** Milliseconds since 1970 minus monotonic ones. */
  readonly wallOffset: number;
}

export class Tally {
  #hits = new Float64Array(0);
  #handled = 0;

  /** Records that this item was handled. Items before `begin` are not counted. */
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
    // Some capacity for repeated items.
    this.#hits = new Float64Array(2 * (2 * question.begin + 1_000));
    this.#handled = 0;
    return undefined;
  }
}
