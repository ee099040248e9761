// Keeps runs in memory between tasks, so that the next task continues where the last one ended. Bounded by
// count and bytes; the least recently used runs are evicted first.
import type { LoadedRun } from "./loaded-run.ts";

export interface CacheNumbers {
  readonly size: number;
  readonly bytes: number;
  readonly hits: number;
  readonly misses: number;
  readonly forced: number;
  readonly evictions: number;
}

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

  get numbers(): CacheNumbers {
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
