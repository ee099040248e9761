// Figures of sticky execution for operators, for the whole cluster: runs with an affinity, hits and misses of
// the last minute, and how full the caches are.
import type { StoredWorker, Workflows } from "../../ports/store/workflows.ts";
import type { MinuteOfClaims } from "../../ports/workflow-admin.ts";
import { lastMinuteOf } from "./minute-counts.ts";
import { isUnderPressure, readCache } from "./run-cache.ts";

export interface StickyFigures {
  /** By the names of the HTTP API. */
  readonly execution: Readonly<Record<string, number>>;
  readonly workers: Readonly<Record<string, number>>;
}

export interface StickyFiguresDeps {
  readonly store: Pick<Workflows, "stickiness">;
  readonly namespace: string;
  /** Workers of all kinds with a recent heartbeat. */
  live(): Promise<readonly StoredWorker[]>;
  /** Claims of workers in other languages, at all hosts. */
  lastMinute(): Promise<MinuteOfClaims>;
}

/**
 * A miss is a task that had an affinity and was replayed cold: another worker got it, or its owner had
 * evicted it. Tasks without an affinity are neither hits nor misses. A worker may report more misses than
 * that, so misses are capped at the tasks.
 */
function hitsAndMisses(minute: MinuteOfClaims): { readonly hits: number; readonly misses: number } {
  const { sticky_hit_expected: expected, forced_cold_replay: forced } = minute;
  const missed = Math.min(minute.miss, expected);
  return { hits: expected - missed, misses: missed + forced };
}

const rate = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);

export async function stickyFigures({ store, namespace, live, lastMinute }: StickyFiguresDeps): Promise<StickyFigures> {
  const [rows, elsewhere] = await Promise.all([live(), lastMinute()]);
  const sticky = rows.filter((row) => row.isSticky);
  const caches = sticky.map(readCache);
  const pressed = sticky.filter((_, i) => isUnderPressure(caches[i]!)).map(({ worker }) => worker);
  const { runs, ready, leased, owned } = await store.stickiness(namespace, pressed);
  const minute = lastMinuteOf(rows, elsewhere);
  const { hits, misses } = hitsAndMisses(minute);
  const sum = (name: keyof (typeof caches)[number]): number => caches.reduce((all, cache) => all + cache[name], 0);
  return {
    execution: {
      active_sticky_runs: runs,
      ready_sticky_tasks: ready,
      leased_sticky_tasks: leased,
      hit_expected_last_minute: minute.sticky_hit_expected,
      miss_last_minute: misses,
      forced_cold_replay_last_minute: minute.forced_cold_replay,
      cold_replay_last_minute: minute.cold_replay,
      hit_rate_last_minute: rate(hits, hits + misses),
      miss_rate_last_minute: rate(misses, hits + misses),
      capacity_pressure_tasks: owned,
    },
    workers: {
      worker_count: sticky.length,
      cache_capacity: sum("capacity"),
      cache_size: sum("size"),
      hit_count: sum("hits"),
      miss_count: sum("misses"),
      forced_cold_replay_count: sum("forced"),
      eviction_count: sum("evictions"),
      capacity_pressure_worker_count: pressed.length,
    },
  };
}
