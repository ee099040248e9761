// Statistics of measurements: a median, its spread and its interval.

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Undefined for an empty list. */
export function spreadOf(samples: readonly number[]): Spread | undefined {
  if (samples.length === 0) return undefined;
  const sorted = [...samples].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle]!;
  const median = sorted.length % 2 === 1 ? upper : (sorted[middle - 1]! + upper) / 2;
  return { median, min: sorted[0]!, max: sorted.at(-1)! };
}

/**
 * The interval that contains the median of the distribution with a probability of at least 95 %, from the
 * ranks of the sorted samples. With fewer than six samples it is the whole range, which is less certain.
 */
export function intervalOf(samples: readonly number[]): readonly [low: number, high: number] {
  const sorted = [...samples].sort((a, b) => a - b);
  const count = sorted.length;
  // The probability that at most `rank` of the samples lie below the median.
  let outside = 0;
  let term = 0.5 ** count;
  let rank = 0;
  for (; rank < count >> 1; rank++) {
    outside += term;
    if (outside > 0.025) break;
    term *= (count - rank) / (rank + 1);
  }
  const skipped = Math.max(rank - 1, 0);
  return [sorted[skipped]!, sorted[count - 1 - skipped]!];
}

/** Four digits are the precision of a benchmark. */
export function rounded(value: number): number {
  return value === 0 || !Number.isFinite(value) ? value : Number(value.toPrecision(4));
}
