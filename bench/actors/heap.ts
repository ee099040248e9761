// How much memory is in use once everything that can be collected is gone.

/** Needs --expose-gc. Heap and what JavaScript objects hold outside of it. */
export async function heapBytes(): Promise<number> {
  if (globalThis.gc === undefined) throw new Error("run with --expose-gc");
  // Finalizers and weak references let go of more only after a turn of the event loop.
  for (let i = 0; i < 3; i++) {
    globalThis.gc();
    await new Promise(setImmediate);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
