// Clocks that agree in all processes of one machine.

const CALIBRATION_MS = 10;

/** Milliseconds on a clock that is never set. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}

/**
 * Milliseconds since 1970 minus monotonic ones. The wall clock is read in whole milliseconds, and the process
 * may have to wait between two readings. Many pairs of readings together determine the offset to some
 * microseconds.
 */
export function wallOffset(): number {
  let [least, most] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  const start = monotonicMs();
  for (let before = start; before < start + CALIBRATION_MS; ) {
    const wall = Date.now();
    const after = monotonicMs();
    least = Math.max(least, wall - after);
    most = Math.min(most, wall + 1 - before);
    before = after;
  }
  return (least + most) / 2;
}
