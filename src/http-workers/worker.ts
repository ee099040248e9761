// The registration of a remote worker, and its format in the store. Pure.
import type { StoredWorker, WorkerRow } from "../ports/store/workflows.ts";
import type { WorkerCode } from "../workflows/definition/pins.ts";
import { cacheOf, type RunCacheFigures } from "../workflows/worker/run-cache.ts";

/** The handlers of a workflow type, as its worker registered them. */
export interface CommandContract {
  readonly signals?: readonly string[];
  readonly queries?: readonly string[];
  readonly updates?: readonly string[];
  readonly validators?: readonly string[];
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
  /**
   * `always`: every completed task leaves the run in its memory. `claimed`: the worker declares it each time.
   */
  readonly sticky: "never" | "always" | "claimed";
  /** The start of this process with this code: runs with older commands are not in its memory. */
  readonly since: number;
  readonly cache: RunCacheFigures;
  /**
   * The worker has sent its counters since it registered. They begin with its process, which may be much
   * older.
   */
  readonly isCounted?: boolean;
  /** Identifies the process, to detect a replacement. */
  readonly process: Readonly<Record<string, unknown>>;
  readonly slots: Readonly<Record<string, unknown>>;
  readonly mostWorkflowTasks: number;
  readonly mostActivities: number;
  readonly isDraining: boolean;
}

/** Remote workers do not declare compatible builds. */
export const remoteCode = ({ build, fingerprints }: Pick<RemoteWorker, "build" | "fingerprints">): WorkerCode => ({
  build,
  compatible: [],
  definitions: fingerprints,
});

/** The handlers of a workflow type. Type names come from outside, and may equal inherited property names. */
export const contractOf = ({ contracts }: RemoteWorker, type: string): CommandContract | undefined =>
  Object.hasOwn(contracts, type) ? contracts[type] : undefined;

/** The worker declared a cache. */
export const keepsRuns = ({ sticky, cache }: RemoteWorker): boolean => sticky !== "never" && cache.capacity > 0;

/** The row of a worker. The cache numbers have the same fields as in rows of our own processes. */
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

/** Undefined: one of our own processes. */
export function readWorker(row: StoredWorker): RemoteWorker | undefined {
  const about = JSON.parse(row.about) as Partial<RunCacheFigures> & {
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
