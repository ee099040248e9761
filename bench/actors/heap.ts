// Memory in use after a full garbage collection.

/** Needs --expose-gc. Heap and memory that JavaScript objects hold outside it. */
export async function heapBytes(): Promise<number> {
  if (globalThis.gc === undefined) throw new Error("run with --expose-gc");
  // Finalizers and weak references release more only after a turn of the event loop.
  for (let i = 0; i < 3; i++) {
    globalThis.gc();
    await new Promise(setImmediate);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
