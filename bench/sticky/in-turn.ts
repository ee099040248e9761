// Two things that differ by little are measured in one process, in short turns. A busy moment of the machine, and the luck of a
// compilation, then hit both alike, which is not so for two processes.
import { spreadOf } from "../statistics.ts";

export interface Compared {
  /** Medians of the turns. */
  readonly one: number;
  readonly other: number;
  /** The median of the first divided by the second, turn by turn. */
  readonly ratio: number;
}

/** Each gives a rate. They begin in turn. */
export async function compareInTurn(
  turns: number,
  one: () => Promise<number>,
  other: () => Promise<number>,
): Promise<Compared> {
  const ones: number[] = [];
  const others: number[] = [];
  for (let turn = 0; turn < turns; turn++) {
    if (turn % 2 === 0) {
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
