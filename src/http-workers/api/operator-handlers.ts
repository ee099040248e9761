// Handlers for operators: the workers, the builds that get work, and the hit rate of runs in memory.

import type { StoredWorker } from "../../ports/store/workflows.ts";
import type { PathNames } from "../../wire/http/route.ts";
import { readCache } from "../../workflows/worker/run-cache.ts";
import { Refused } from "../refusal.ts";
import { readWorker } from "../worker.ts";
import { type ApiAnswer, type ApiCall, isoTime, okAnswer } from "./api-call.ts";
import { optionalText } from "./fields.ts";

const statusOf = (row: StoredWorker, isLive: boolean): string =>
  isLive ? (row.isDraining ? "draining" : "active") : "stale";

function encodeWorker(row: StoredWorker, { service }: ApiCall): Record<string, unknown> {
  const remote = readWorker(row);
  const { capacity, size, hits, misses, forced, evictions } = readCache(row);
  const about = JSON.parse(row.about) as { runtime?: string; types?: string[]; fingerprints?: object };
  return {
    worker_id: row.worker,
    task_queue: row.queue,
    namespace: row.namespace,
    runtime: about.runtime ?? null,
    sdk_version: remote?.sdkVersion ?? null,
    build_id: row.build === "" ? null : row.build,
    status: statusOf(row, service.workers.isLive(row)),
    last_heartbeat_at: isoTime(row.seenAt),
    supported_workflow_types: about.types ?? [],
    supported_activity_types: remote?.activityTypes ?? [],
    workflow_definition_fingerprints: about.fingerprints ?? {},
    capabilities: remote?.capabilities ?? [],
    capability_manifest: remote?.manifest ?? null,
    task_slots: remote?.slots ?? {},
    process_metrics: remote?.process ?? {},
    sticky_cache: {
      enabled: row.isSticky,
      capacity,
      size,
      hit_count: hits,
      miss_count: misses,
      forced_cold_replay_count: forced,
      eviction_count: evictions,
    },
  };
}

export async function describeWorkers(call: ApiCall): Promise<ApiAnswer> {
  const [queue, status] = [call.query.get("task_queue"), call.query.get("status")];
  const workers = (await call.service.workers.rows())
    .filter((row) => queue === null || row.queue === queue)
    .map((row) => encodeWorker(row, call))
    .filter((worker) => status === null || worker.status === status);
  return okAnswer({ workers, worker_count: workers.length });
}

export async function describeWorker(call: ApiCall<PathNames<"id">>): Promise<ApiAnswer> {
  return okAnswer(encodeWorker(await findWorker(call), call));
}

async function findWorker({ service, names: { id } }: ApiCall<PathNames<"id">>): Promise<StoredWorker> {
  const row = (await service.workers.rows()).find(({ worker }) => worker === id);
  if (row !== undefined) return row;
  throw new Refused(404, "worker_not_found", `worker ${id} is unknown`, { worker_id: id });
}

export async function removeWorker(call: ApiCall<PathNames<"id">>): Promise<ApiAnswer> {
  const { worker } = await findWorker(call);
  const recovered = await call.service.workers.forget(worker);
  call.service.nudge();
  return okAnswer({ worker_id: worker, outcome: "deregistered", recovered_workflow_task_count: recovered ?? 0 });
}

// ——— Builds.

interface Cohort {
  active: number;
  draining: number;
  stale: number;
}

async function cohortsOf({ service }: ApiCall, queue: string): Promise<Map<string, Cohort>> {
  const cohorts = new Map<string, Cohort>();
  const cohortOf = (build: string): Cohort => {
    const cohort = cohorts.get(build) ?? { active: 0, draining: 0, stale: 0 };
    cohorts.set(build, cohort);
    return cohort;
  };
  for (const row of await service.workers.rows()) {
    if (row.queue === queue) cohortOf(row.build)[statusOf(row, service.workers.isLive(row)) as keyof Cohort]++;
  }
  for (const build of await service.workers.drainedBuilds(queue)) cohortOf(build);
  return cohorts;
}

function rolloutStatus({ active, draining, stale }: Cohort, isDrained: boolean): string {
  if (active > 0) return draining > 0 || isDrained ? "active_with_draining" : "active";
  if (draining > 0) return "draining";
  return stale > 0 ? "stale_only" : "no_workers";
}

export async function listBuilds(call: ApiCall<PathNames<"queue">>): Promise<ApiAnswer> {
  const { queue } = call.names;
  const drained = new Set(await call.service.workers.drainedBuilds(queue));
  const builds = [...(await cohortsOf(call, queue))].map(([build, cohort]) => ({
    build_id: build === "" ? null : build,
    drain_intent: drained.has(build) ? "draining" : "active",
    rollout_status: rolloutStatus(cohort, drained.has(build)),
    active_worker_count: cohort.active,
    draining_worker_count: cohort.draining,
    stale_worker_count: cohort.stale,
  }));
  return okAnswer({ task_queue: queue, build_ids: builds });
}

export async function drainBuild(call: ApiCall<PathNames<"queue">>): Promise<ApiAnswer> {
  const [queue, build] = [call.names.queue, optionalText(call.fields, "build_id") ?? ""];
  await call.service.workers.drain(queue, build);
  call.service.nudge();
  return okAnswer({ task_queue: queue, build_id: build === "" ? null : build, drain_intent: "draining" });
}

export async function resumeBuild(call: ApiCall<PathNames<"queue">>): Promise<ApiAnswer> {
  const [queue, build] = [call.names.queue, optionalText(call.fields, "build_id") ?? ""];
  await call.service.workers.resume(queue, build);
  return okAnswer({ task_queue: queue, build_id: build === "" ? null : build, drain_intent: "active" });
}

// ——— Metrics.

export async function operatorMetrics({ service }: ApiCall): Promise<ApiAnswer> {
  const { execution, workers } = await service.figures();
  const { isSticky: enabled, stickyMs } = service.deps;
  return okAnswer({
    sticky_execution: { enabled, ttl_seconds: stickyMs / 1_000, ...execution },
    sticky_execution_workers: workers,
  });
}
