// Times for tests with real processes. On a busy machine a process may wait for the CPU for seconds. There,
// leases and limits that must hold are longer, all by the same factor, so that their proportions stay.
import { availableParallelism, loadavg } from "node:os";
import type { ClusterSettings } from "../../src/config/settings.ts";
import { type Duration, parseDuration } from "../../src/kernel/durations.ts";

const isBusy = loadavg()[0]! > 3 * availableParallelism();
const TIMES = isBusy ? 8 : 1;
/** Longer times need no change. */
const LONG_MS = 30_000;

/** Milliseconds, longer on a busy machine. */
export const stretchedMs = (ms: number): number => (ms < LONG_MS ? ms * TIMES : ms);

/** The same for a duration as it is written. */
export const stretched = (duration: Duration): string => `${stretchedMs(parseDuration(duration, "duration"))}ms`;

const KEYS = ["lease", "leaderLease", "roundTimeout", "moveTimeout"] as const;

/** The same for the times of a cluster. */
export function stretchedCluster(settings: ClusterSettings): ClusterSettings {
  const times = KEYS.flatMap((key) => {
    const duration = settings[key];
    return duration === undefined ? [] : [[key, stretched(duration)]];
  });
  return { ...settings, ...Object.fromEntries(times) };
}
