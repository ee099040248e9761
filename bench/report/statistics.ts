// Statistics of measurements: a median and its spread.

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

/** Four digits are the precision of a benchmark. */
export function rounded(value: number): number {
  return value === 0 || !Number.isFinite(value) ? value : Number(value.toPrecision(4));
}
