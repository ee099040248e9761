// Compares two similar things in one process, in short turns. A busy moment of the machine, and the luck of a
// compilation, then affect both alike, which is not so for two processes.
import { spreadOf } from "./report/statistics.ts";

export interface Compared {
  /** Medians of the turns. */
  readonly one: number;
  readonly other: number;
  /** The median of the first divided by the second, turn by turn. */
  readonly ratio: number;
}

/** Fewer turns than this are not conclusive, however long they take. */
const LEAST_TURNS = 5;

/** Each returns a rate. They alternate until the time is over. */
export async function compareInTurn(
  durationMs: number,
  one: () => Promise<number>,
  other: () => Promise<number>,
): Promise<Compared> {
  const ones: number[] = [];
  const others: number[] = [];
  const start = performance.now();
  while (ones.length < LEAST_TURNS || performance.now() - start < durationMs) {
    if (ones.length % 2 === 0) {
      ones.push(await one());
      others.push(await other());
    } else {
      others.push(await other());
      ones.push(await one());
    }
  }
  const median = (values: readonly number[]): number => spreadOf(values)!.median;
  return { one: median(ones), other: median(others), ratio: median(ones.map((rate, i) => rate / others[i]!)) };
}
