// Handlers of workers in other languages: register, heartbeat and deregister.

import { LIMITS } from "../../kernel/limits.ts";
import { nameProblem } from "../../kernel/names.ts";
import type { PathNames } from "../../wire/http/route.ts";
import { NO_CACHE, type RunCacheFigures } from "../../workflows/worker/run-cache.ts";
import { invalidField, Refused } from "../refusal.ts";
import type { CommandContract, RemoteWorker } from "../worker.ts";
import { HEARTBEAT_SECONDS, STALE_SECONDS, type WorkerRegistration } from "../workers.ts";
import { type ApiAnswer, type ApiCall, createdAnswer, okAnswer } from "./api-call.ts";
import {
  type Fields,
  flag,
  isFields,
  object,
  oneOf,
  optionalText,
  optionalTexts,
  optionalWhole,
  text,
} from "./fields.ts";

const RUNTIMES = ["php", "python", "rust", "typescript", "go", "java", "external"] as const;
const STICKY = "sticky_execution";
/** Minor version since which workers may claim runs with the tasks that they complete. */
export const STICKY_MINOR = 18;
/** Default capacity of a sticky worker. */
const CAPACITY = 100;
/** The limit of a fingerprint, which is stored with every run that is pinned to it. */
const LONGEST_FINGERPRINT = 1_000;

export async function register({ service, fields, minor }: ApiCall): Promise<ApiAnswer> {
  const registration = parseWorker(fields, minor, () => service.deps.random.id());
  const worker = await service.workers.register(registration);
  service.deps.serve();
  service.nudge();
  return createdAnswer({
    worker_id: worker.id,
    registered: true,
    namespace: service.deps.namespace,
    task_queue: worker.queue,
    runtime: worker.runtime,
    build_id: worker.build === "" ? null : worker.build,
    capabilities: worker.capabilities,
    capability_manifest: worker.manifest,
    status: worker.isDraining ? "draining" : "active",
    heartbeat_interval_seconds: HEARTBEAT_SECONDS,
    stale_after_seconds: STALE_SECONDS,
  });
}

function parseWorker(fields: Fields, minor: number, makeId: () => string): WorkerRegistration {
  const id = optionalText(fields, "worker_id") ?? makeId();
  const queue = text(fields, "task_queue");
  for (const [field, name] of [
    ["worker_id", id],
    ["task_queue", queue],
  ] as const) {
    const problem = nameProblem(name, LIMITS.idBytes) ?? (name.startsWith("$") ? "must not begin with $" : undefined);
    if (problem !== undefined) throw invalidField(field, problem);
  }
  const runtime = oneOf(fields, "runtime", RUNTIMES);
  if (runtime === undefined) throw invalidField("runtime", `must be one of ${RUNTIMES.join(", ")}`);
  const mostWorkflowTasks = optionalWhole(fields, "max_concurrent_workflow_tasks", 0, 1_000_000) ?? 100;
  const mostActivities = optionalWhole(fields, "max_concurrent_activity_tasks", 0, 1_000_000) ?? 100;
  if (mostWorkflowTasks === 0 && mostActivities === 0) {
    throw invalidField("max_concurrent_workflow_tasks", "and max_concurrent_activity_tasks cannot both be 0");
  }
  optionalWhole(fields, "heartbeat_interval_seconds", 1, 3_600);
  const capabilities = optionalTexts(fields, "capabilities") ?? [];
  const manifest = object(fields, "capability_manifest");
  checkFloors(capabilities, manifest, minor);
  const sticky = stickinessOf(fields, capabilities, manifest);
  return {
    id,
    queue,
    runtime,
    capabilities,
    mostWorkflowTasks,
    mostActivities,
    sticky,
    build: optionalText(fields, "build_id") ?? "",
    sdkVersion: optionalText(fields, "sdk_version", 64),
    workflowTypes: typeNames(fields, "supported_workflow_types"),
    activityTypes: typeNames(fields, "supported_activity_types"),
    fingerprints: fingerprints(fields),
    contracts: contracts(fields),
    manifest: manifest ?? null,
    cache: { ...NO_CACHE, capacity: sticky === "never" ? 0 : capacityOf(fields) },
    process: object(fields, "process_metrics") ?? {},
    slots: object(fields, "task_slots") ?? {},
  };
}

const capacityOf = (fields: Fields): number =>
  optionalWhole(fields, "sticky_cache_capacity", 0, 10_000_000) ?? CAPACITY;

/** A worker announces stickiness by its own fields, or as a capability with a claim in each completion. */
function stickinessOf(
  fields: Fields,
  capabilities: readonly string[],
  manifest: Fields | undefined,
): RemoteWorker["sticky"] {
  const entry = manifest?.[STICKY];
  const isSupported = isFields(entry) ? entry.supported === true : undefined;
  const isCapable = capabilities.includes(STICKY);
  if (isCapable && isSupported === false) {
    const what = `${STICKY} is among the capabilities, but the manifest marks it as not supported`;
    throw new Refused(409, "worker_capability_manifest_mismatch", what, { capability: STICKY });
  }
  if (flag(fields, "sticky_cache_enabled") === true && capacityOf(fields) > 0) return "always";
  return isCapable ? "claimed" : "never";
}

/** A worker cannot have a capability that its protocol version lacks. */
function checkFloors(capabilities: readonly string[], manifest: Fields | undefined, minor: number): void {
  for (const capability of new Set([...capabilities, ...Object.keys(manifest ?? {})])) {
    const entry = manifest?.[capability];
    const isSupported = isFields(entry) ? entry.supported === true : capabilities.includes(capability);
    const declared = isFields(entry) ? minorOf(entry.minimum_protocol_version) : 0;
    const floor = Math.max(declared, capability === STICKY ? STICKY_MINOR : 0);
    if (!isSupported || floor <= minor) continue;
    const what = `${capability} needs protocol version 1.${floor} or later`;
    throw new Refused(409, "worker_capability_protocol_floor_mismatch", what, {
      capability,
      requested_version: `1.${minor}`,
      minimum_protocol_version: `1.${floor}`,
    });
  }
}

const minorOf = (version: unknown): number =>
  typeof version === "string" ? Number(/^1\.(\d{1,6})$/.exec(version)?.[1] ?? 0) : 0;

function typeNames(fields: Fields, field: string): string[] {
  const names = optionalTexts(fields, field) ?? [];
  for (const name of names) {
    const problem = nameProblem(name, LIMITS.wordBytes);
    if (problem !== undefined) throw invalidField(field, `${JSON.stringify(name.slice(0, 60))} ${problem}`);
  }
  return [...new Set(names)];
}

function fingerprints(fields: Fields): Record<string, string> {
  const given = Object.entries(object(fields, "workflow_definition_fingerprints") ?? {});
  if (!given.every(([, value]) => typeof value === "string" && value.length <= LONGEST_FINGERPRINT)) {
    const what = `must be texts of at most ${LONGEST_FINGERPRINT} characters by workflow type`;
    throw invalidField("workflow_definition_fingerprints", what);
  }
  return Object.fromEntries(given) as Record<string, string>;
}

function contracts(fields: Fields): Record<string, CommandContract> {
  const found: [string, CommandContract][] = [];
  for (const [type, contract] of Object.entries(object(fields, "workflow_command_contracts") ?? {})) {
    if (!isFields(contract)) continue;
    const [signals, queries] = [optionalTexts(contract, "signals"), optionalTexts(contract, "queries")];
    const [updates, validators] = [optionalTexts(contract, "updates"), optionalTexts(contract, "update_validators")];
    found.push([type, { signals, queries, updates, validators }]);
  }
  return Object.fromEntries(found);
}

export async function heartbeat({ service, fields }: ApiCall): Promise<ApiAnswer> {
  const id = text(fields, "worker_id");
  const reported = { process: object(fields, "process_metrics") ?? {}, slots: object(fields, "task_slots") ?? {} };
  const { worker, missed } = await service.workers.heartbeat(
    id,
    reported,
    parseCacheFigures(object(fields, "sticky_cache")),
  );
  service.claims.add("miss", missed);
  return okAnswer({
    worker_id: id,
    acknowledged: true,
    status: worker.isDraining ? "draining" : "active",
    heartbeat_interval_seconds: HEARTBEAT_SECONDS,
    stale_after_seconds: STALE_SECONDS,
    retention: null,
  });
}

/** Cache figures of a worker. Heartbeats and completions use different names for some of them. */
const CACHE_FIELDS = {
  capacity: ["capacity"],
  size: ["size", "entries"],
  hits: ["hit_count", "hit"],
  misses: ["miss_count", "miss"],
  forced: ["forced_cold_replay_count", "forced_cold_replay"],
  evictions: ["eviction_count", "eviction"],
} as const satisfies Record<keyof RunCacheFigures, readonly string[]>;

export function parseCacheFigures(reported: Fields | undefined): Partial<RunCacheFigures> {
  if (reported === undefined) return {};
  // A worker with a disabled cache has no capacity.
  if (flag(reported, "enabled") === false) return { capacity: 0, size: 0 };
  const numbers = Object.entries(CACHE_FIELDS).flatMap(([name, fields]) => {
    const known = fields.map((field) => optionalWhole(reported, field, 0, Number.MAX_SAFE_INTEGER));
    const number = known.find((each) => each !== undefined);
    return number === undefined ? [] : [[name, number] as const];
  });
  return Object.fromEntries(numbers);
}

export async function deregister({ service, names: { id } }: ApiCall<PathNames<"id">>): Promise<ApiAnswer> {
  const recovered = await service.workers.forget(id);
  if (recovered === undefined) {
    throw new Refused(404, "worker_not_found", `worker ${id} is unknown`, { worker_id: id });
  }
  service.nudge();
  return okAnswer({ worker_id: id, outcome: "deregistered", recovered_workflow_task_count: recovered });
}
