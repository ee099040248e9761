// Metrics of the workflow worker.
import type { Meter } from "../ports/meter.ts";
import type { ReplayMode, RunStatus } from "../ports/store/workflows.ts";
import type { RunCache } from "./worker/run-cache.ts";

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface WorkflowInstruments {
  /** A task was claimed; `mode`: how its run is loaded. */
  claimed(mode: ReplayMode): void;
  /** The duration of a replay. */
  replayed(seconds: number): void;
  step(): void;
  ended(status: Exclude<RunStatus, "running">): void;
  blocked(): void;
  activity(outcome: "completed" | "failed"): void;
  /** Updates the gauges. */
  measure(cache: RunCache, working: number): void;
}

export function workflowInstruments(meter: Meter, namespace: string): WorkflowInstruments {
  const per = <Key extends string>(
    name: string,
    help: string,
    label: string,
    keys: readonly Key[],
  ): ((key: Key) => void) => {
    const counters = new Map(keys.map((key) => [key, meter.counter(name, help, { namespace, [label]: key })]));
    return (key) => counters.get(key)!.add(1);
  };
  const labels = { namespace };
  const modes = ["sticky_hit_expected", "cold_replay", "forced_cold_replay"] as const;
  const statuses = ["completed", "failed", "cancelled", "terminated", "timed out", "continued"] as const;
  const replay = meter.histogram("limpet_workflow_replay_seconds", "Duration of a replay.", SECONDS, labels);
  const steps = meter.counter("limpet_workflow_steps_total", "Steps written to histories.", labels);
  const blocked = meter.counter(
    "limpet_workflow_tasks_blocked_total",
    "Tasks blocked by an error of their code.",
    labels,
  );
  const gauge = (name: string, help: string) => meter.gauge(name, help, labels);
  const working = gauge("limpet_workflows_working", "Runs with a task in progress.");
  const runs = gauge("limpet_workflow_cache_runs", "Runs kept in memory between tasks.");
  const bytes = gauge("limpet_workflow_cache_bytes", "Estimated size of the runs kept in memory.");
  const hits = gauge("limpet_workflow_cache_hits", "Tasks whose run was in memory.");
  const misses = gauge("limpet_workflow_cache_misses", "Sticky tasks whose run was no longer in memory.");
  const evictions = gauge("limpet_workflow_cache_evictions", "Runs evicted from memory.");
  return {
    claimed: per("limpet_workflow_tasks_total", "Claimed tasks.", "mode", modes),
    replayed: (seconds) => replay.observe(seconds),
    step: () => steps.add(1),
    ended: per("limpet_workflow_runs_ended_total", "Runs that ended in this process.", "status", statuses),
    blocked: () => blocked.add(1),
    activity: per("limpet_activity_attempts_total", "Attempts at activities in this process.", "outcome", [
      "completed",
      "failed",
    ]),
    measure(cache, count) {
      const { numbers } = cache;
      working.set(count);
      runs.set(numbers.size);
      bytes.set(numbers.bytes);
      hits.set(numbers.hits);
      misses.set(numbers.misses);
      evictions.set(numbers.evictions);
    },
  };
}
