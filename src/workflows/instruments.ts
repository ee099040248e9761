// What the worker of workflows counts.
import type { Meter } from "../ports/meter.ts";
import type { ReplayMode, RunStatus } from "../ports/workflows.ts";
import type { RunCache } from "./worker/run-cache.ts";

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface WorkflowInstruments {
  /** A task was claimed, and how its run came into memory. */
  claimed(mode: ReplayMode): void;
  /** How long it took to replay a history. */
  replayed(seconds: number): void;
  step(): void;
  ended(status: Exclude<RunStatus, "running">): void;
  blocked(): void;
  activity(outcome: "completed" | "failed"): void;
  /** Brings the gauges up to date. */
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
  const replay = meter.histogram("limpet_workflow_replay_seconds", "How long a replay took.", SECONDS, labels);
  const steps = meter.counter("limpet_workflow_steps_total", "Steps that were written.", labels);
  const blocked = meter.counter("limpet_workflow_tasks_blocked_total", "Tasks whose code could not go on.", labels);
  const gauge = (name: string, help: string) => meter.gauge(name, help, labels);
  const working = gauge("limpet_workflows_working", "Runs that are worked on.");
  const runs = gauge("limpet_workflow_cache_runs", "Runs that rest in memory.");
  const bytes = gauge("limpet_workflow_cache_bytes", "What they take up, roughly.");
  const hits = gauge("limpet_workflow_cache_hits", "Tasks whose run was in memory.");
  const misses = gauge("limpet_workflow_cache_misses", "Tasks whose run should have been in memory.");
  const evictions = gauge("limpet_workflow_cache_evictions", "Runs that had to leave memory.");
  return {
    claimed: per("limpet_workflow_tasks_total", "Tasks that were claimed.", "mode", modes),
    replayed: (seconds) => replay.observe(seconds),
    step: () => steps.add(1),
    ended: per("limpet_workflow_runs_ended_total", "Runs that ended here.", "status", statuses),
    blocked: () => blocked.add(1),
    activity: per("limpet_activity_attempts_total", "Attempts at activities.", "outcome", ["completed", "failed"]),
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
