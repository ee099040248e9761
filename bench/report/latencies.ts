// Latencies of single calls, and their quantiles.

/**
 * `count` calls, `inFlight` at a time. Returns milliseconds of each, in the order of their ends; `work` gets
 * the number of the call.
 */
export async function latenciesOf(
  count: number,
  inFlight: number,
  work: (call: number) => Promise<unknown>,
): Promise<Float64Array> {
  const took = new Float64Array(count);
  let begun = 0;
  let done = 0;
  const caller = async () => {
    while (begun < count) {
      const call = begun++;
      const start = performance.now();
      await work(call);
      took[done++] = performance.now() - start;
    }
  };
  await Promise.all(Array.from({ length: Math.min(inFlight, count) }, caller));
  return took;
}

/** Returns a value that this share of the values does not exceed. */
export function quantile(values: Float64Array, share: number): number {
  if (values.length === 0) throw new Error("there is nothing to look at");
  const sorted = values.toSorted();
  return sorted[Math.max(Math.ceil(share * sorted.length) - 1, 0)]!;
}
