// The run cache of a worker, as its row in the store describes it. Workers in other languages report the same
// fields as our own processes. Pure.
import type { StoredWorker } from "../../ports/store/workflows.ts";

export interface RunCacheFigures {
  readonly capacity: number;
  readonly size: number;
  readonly hits: number;
  readonly misses: number;
  readonly forced: number;
  readonly evictions: number;
}

export const NO_CACHE: RunCacheFigures = { capacity: 0, size: 0, hits: 0, misses: 0, forced: 0, evictions: 0 };

/** Fields that are missing count as 0. */
export function cacheOf(about: Partial<RunCacheFigures>): RunCacheFigures {
  const { capacity = 0, size = 0, hits = 0, misses = 0, forced = 0, evictions = 0 } = about;
  return { capacity, size, hits, misses, forced, evictions };
}

/** The cache figures of any worker. */
export const readCache = ({ about }: StoredWorker): RunCacheFigures =>
  cacheOf(JSON.parse(about) as Partial<RunCacheFigures>);

/** The cache is nearly full, so the worker will soon evict runs. */
export const isUnderPressure = ({ capacity, size }: RunCacheFigures): boolean => capacity > 0 && size >= capacity * 0.9;
