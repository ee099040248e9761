// A worker in another language, as it told of itself when it registered, and how the store keeps that. Pure.
import type { StoredWorker, WorkerRow } from "../ports/store/workflows.ts";
import type { WorkerCode } from "../workflows/definition/bindings.ts";

/** What handlers a type of workflow has, as far as its worker told. */
export interface CommandContract {
  readonly signals?: readonly string[] | undefined;
  readonly queries?: readonly string[] | undefined;
  readonly updates?: readonly string[] | undefined;
  readonly validators?: readonly string[] | undefined;
}

export interface CacheNumbers {
  readonly capacity: number;
  readonly size: number;
  readonly hits: number;
  readonly misses: number;
  readonly forced: number;
  readonly evictions: number;
}

export interface RemoteWorker {
  readonly id: string;
  readonly queue: string;
  readonly build: string;
  readonly runtime: string;
  readonly sdkVersion: string | undefined;
  readonly workflowTypes: readonly string[];
  readonly activityTypes: readonly string[];
  readonly fingerprints: Readonly<Record<string, string>>;
  readonly contracts: Readonly<Record<string, CommandContract>>;
  readonly capabilities: readonly string[];
  readonly manifest: unknown;
  /** `always`: every task that it ends leaves the run in its memory. `claimed`: it says so each time. */
  readonly sticky: "never" | "always" | "claimed";
  /** Since when this process has been at work with this code: of runs that rest for longer it has nothing in memory. */
  readonly since: number;
  readonly cache: CacheNumbers;
  /** It has sent its counters since it registered. They begin with its process, which may be much older. */
  readonly isCounted?: boolean | undefined;
  /** Of the process, so that one that was replaced is known. */
  readonly process: Readonly<Record<string, unknown>>;
  readonly slots: Readonly<Record<string, unknown>>;
  readonly mostWorkflowTasks: number;
  readonly mostActivities: number;
  readonly isDraining: boolean;
}

/** Elsewhere nobody says which other builds they could go on with. */
export const remoteCode = ({ build, fingerprints }: Pick<RemoteWorker, "build" | "fingerprints">): WorkerCode => ({
  build,
  compatible: [],
  definitions: fingerprints,
});

/** The handlers of a workflow type. Type names come from outside, and may equal inherited property names. */
export const contractOf = ({ contracts }: RemoteWorker, type: string): CommandContract | undefined =>
  Object.hasOwn(contracts, type) ? contracts[type] : undefined;

/** It has room for runs in its memory, as far as it said. */
export const keepsRuns = ({ sticky, cache }: RemoteWorker): boolean => sticky !== "never" && cache.capacity > 0;

export const NO_CACHE: CacheNumbers = { capacity: 0, size: 0, hits: 0, misses: 0, forced: 0, evictions: 0 };

/** The row of a worker; its numbers stand where those of workers in our own processes do. */
export function workerRow(namespace: string, worker: RemoteWorker, isSticky: boolean): WorkerRow {
  const { id, queue, build, runtime, workflowTypes, fingerprints, cache, isDraining, ...remote } = worker;
  const about = { runtime, types: workflowTypes, fingerprints, ...cache, remote };
  return {
    namespace,
    worker: id,
    queue,
    build,
    isDraining,
    isSticky: isSticky && keepsRuns(worker),
    about: JSON.stringify(about),
  };
}

/** Undefined: it is one of our own processes. */
export function readWorker(row: StoredWorker): RemoteWorker | undefined {
  const about = JSON.parse(row.about) as Partial<CacheNumbers> & {
    runtime: string;
    types: string[];
    fingerprints: Record<string, string>;
    remote?: Omit<
      RemoteWorker,
      "id" | "queue" | "build" | "runtime" | "workflowTypes" | "fingerprints" | "cache" | "isDraining"
    >;
  };
  if (about.remote === undefined) return undefined;
  return {
    ...about.remote,
    id: row.worker,
    queue: row.queue,
    build: row.build,
    isDraining: row.isDraining,
    runtime: about.runtime,
    workflowTypes: about.types,
    fingerprints: about.fingerprints,
    cache: cacheOf(about),
  };
}

function cacheOf({ capacity = 0, size = 0, hits = 0, misses = 0, forced = 0, evictions = 0 }: Partial<CacheNumbers>) {
  return { capacity, size, hits, misses, forced, evictions };
}

/** The numbers of any worker, also of one in our own processes. */
export const readCache = ({ about }: StoredWorker): CacheNumbers => cacheOf(JSON.parse(about) as Partial<CacheNumbers>);

/** It keeps so much in memory that it will soon have to forget something. */
export const isUnderPressure = ({ capacity, size }: CacheNumbers): boolean => capacity > 0 && size >= capacity * 0.9;
