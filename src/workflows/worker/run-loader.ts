// Gets the run of a task: from memory if it has all of its events and messages, otherwise by a replay.
import type { ClaimedTask, ReplayMode } from "../../ports/store/workflows.ts";
import type { LoadedRun } from "./loaded-run.ts";
import type { MinuteCounts } from "./minute-counts.ts";
import type { Replayer } from "./replayer.ts";
import type { RunCache } from "./run-cache.ts";

export class RunLoader {
  readonly #cache: RunCache;
  readonly #replayer: Replayer;
  readonly #minute: MinuteCounts<ReplayMode | "miss">;
  readonly #proven = new Set<string>();

  constructor(cache: RunCache, replayer: Replayer, minute: MinuteCounts<ReplayMode | "miss">) {
    this.#cache = cache;
    this.#replayer = replayer;
    this.#minute = minute;
  }

  /** The code of that type reached its first wait in this process without crashing it. */
  isProven(type: string): boolean {
    return this.#proven.has(type);
  }

  async load(task: ClaimedTask): Promise<LoadedRun> {
    const warm = this.#cache.take(task.ref);
    // A restored store assigns refs again, so the run in memory may be another one.
    const isSame = warm !== undefined && warm.runId === task.runId;
    if (isSame && warm.last === task.last && warm.taken === task.taken) {
      this.#cache.hits++;
      return warm;
    }
    if (task.mode === "sticky_hit_expected") {
      this.#cache.misses++;
      this.#minute.add("miss");
    }
    if (task.mode === "forced_cold_replay") this.#cache.forced++;
    return this.replay(task);
  }

  async replay(task: ClaimedTask): Promise<LoadedRun> {
    const run = await this.#replayer.replay(task);
    this.#proven.add(task.type);
    return run;
  }
}
