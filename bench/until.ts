// Waits for a condition, with a limit and an error that names the condition.

const PAUSE_MS = 20;

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  limitMs = 60_000,
): Promise<void> {
  const start = performance.now();
  while (!(await condition())) {
    if (performance.now() - start > limitMs) throw new Error(`not within ${limitMs / 1000} s: ${what}`);
    await pause(PAUSE_MS);
  }
}
