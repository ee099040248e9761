// Keeps runs in memory between tasks, so that the next task continues where the last one ended. Bounded by
// count and bytes; the least recently used runs are evicted first.
import type { StoredWorker } from "../../ports/store/workflows.ts";
import type { LoadedRun } from "./loaded-run.ts";

export class RunCache {
  readonly #capacity: number;
  readonly #mostBytes: number;
  /** In order of use, the latest last. */
  readonly #runs = new Map<number, LoadedRun>();
  #bytes = 0;
  hits = 0;
  misses = 0;
  forced = 0;
  #evictions = 0;

  constructor(capacity: number, mostBytes: number) {
    this.#capacity = capacity;
    this.#mostBytes = mostBytes;
  }

  get isOn(): boolean {
    return this.#capacity > 0;
  }

  get size(): number {
    return this.#runs.size;
  }

  get capacity(): number {
    return this.#capacity;
  }

  get numbers(): Omit<RunCacheFigures, "capacity"> & { readonly bytes: number } {
    const { hits, misses, forced } = this;
    return { size: this.#runs.size, bytes: this.#bytes, hits, misses, forced, evictions: this.#evictions };
  }

  /** Removes the run; the caller owns it from now on. */
  take(ref: number): LoadedRun | undefined {
    const run = this.#runs.get(ref);
    if (run !== undefined) this.#drop(run);
    return run;
  }

  /** For reading only. */
  peek(ref: number): LoadedRun | undefined {
    return this.#runs.get(ref);
  }

  put(run: LoadedRun): void {
    if (!this.isOn) return;
    this.take(run.ref);
    this.#runs.set(run.ref, run);
    this.#bytes += run.bytes;
    for (const oldest of this.#runs.values()) {
      if (this.#runs.size <= this.#capacity && this.#bytes <= this.#mostBytes) break;
      this.#drop(oldest);
      this.#evictions++;
    }
  }

  clear(): void {
    this.#evictions += this.#runs.size;
    this.#runs.clear();
    this.#bytes = 0;
  }

  #drop(run: LoadedRun): void {
    this.#runs.delete(run.ref);
    this.#bytes -= run.bytes;
  }
}

/**
 * The run cache of a worker, as its row in the store describes it. Workers in other languages report the same
 * fields as our own processes.
 */
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
