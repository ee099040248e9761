// Load loops for contenders. All contenders use the same loops, so that only the contender differs. The clock
// is read now and then, not at every call: a call to a running actor costs less than reading the clock twice.

/** Returns its argument plus one, so that answers cannot be confused. */
export interface Pinger {
  ping(n: number): Promise<number>;
}

const STRIDE = 64;

/** One call after the other. Returns calls per second. */
export async function pingOneByOne(target: Pinger, durationMs: number): Promise<number> {
  const start = performance.now();
  let calls = 0;
  let n = 0;
  do {
    for (let i = 0; i < STRIDE; i++) n = await target.ping(n);
    calls += STRIDE;
  } while (performance.now() - start < durationMs);
  const seconds = (performance.now() - start) / 1000;
  if (n !== calls) throw new Error(`${calls} calls counted to ${n}`);
  return calls / seconds;
}

/** `inFlight` callers at once, which take the targets in turn. Returns calls per second. */
export async function pingInFlight(targets: readonly Pinger[], inFlight: number, durationMs: number): Promise<number> {
  const start = performance.now();
  const count = targets.length;
  let next = 0;
  let calls = 0;
  const caller = async () => {
    let own = 0;
    let n = 0;
    do {
      for (let i = 0; i < STRIDE; i++) {
        const at = next;
        next = at + 1 === count ? 0 : at + 1;
        n = await targets[at]!.ping(n);
      }
      own += STRIDE;
    } while (performance.now() - start < durationMs);
    if (n !== own) throw new Error(`${own} calls counted to ${n}`);
    calls += own;
  };
  await Promise.all(Array.from({ length: inFlight }, caller));
  return calls / ((performance.now() - start) / 1000);
}

/** Calls that are long enough to read the clock each time; `work` gets the number of the call. */
export async function repeat(
  work: (call: number) => Promise<unknown>,
  inFlight: number,
  durationMs: number,
): Promise<{ done: number; rate: number }> {
  const start = performance.now();
  let begun = 0;
  let done = 0;
  const caller = async () => {
    do {
      await work(begun++);
      done++;
    } while (performance.now() - start < durationMs);
  };
  await Promise.all(Array.from({ length: inFlight }, caller));
  return { done, rate: done / ((performance.now() - start) / 1000) };
}

/** `count` calls, `inFlight` at a time. Returns calls per second. */
export async function eachOnce(
  count: number,
  inFlight: number,
  work: (call: number) => Promise<unknown>,
): Promise<number> {
  const start = performance.now();
  let begun = 0;
  const caller = async () => {
    while (begun < count) await work(begun++);
  };
  await Promise.all(Array.from({ length: Math.min(inFlight, count) }, caller));
  return count / ((performance.now() - start) / 1000);
}
