// The protocol about workflows between the store and its worker thread, and which requests write.
// workflow-packing.ts encodes the batches.
import type {
  Closing,
  RunQuery,
  StoredRun,
  TaskClaim,
  TaskReturn,
  WorkerRow,
  WorkflowKey,
} from "../../../ports/store/workflows.ts";
import type { Packed } from "../reminders/messages.ts";
import type { PackedStarts, PackedSteps } from "./packing.ts";

export type RunKey = WorkflowKey & { readonly runId: string | undefined };

export type WorkflowChange =
  | ({ readonly kind: "start-runs" } & PackedStarts)
  | { readonly kind: "arrive"; readonly arrivals: Packed }
  | ({ readonly kind: "append" } & PackedSteps)
  | { readonly kind: "close-run"; readonly closing: Omit<Closing, "reminders">; readonly reminders: Packed }
  | { readonly kind: "claim-tasks"; readonly request: TaskClaim }
  | {
      readonly kind: "renew-tasks";
      readonly refs: readonly number[];
      readonly tokens: readonly string[];
      readonly leaseMs: number;
    }
  | { readonly kind: "return-tasks"; readonly batch: readonly TaskReturn[] }
  | { readonly kind: "wake-run"; readonly key: WorkflowKey; readonly forgives: boolean }
  | { readonly kind: "watch-ends"; readonly refs: readonly number[] }
  | { readonly kind: "worker-seen"; readonly worker: WorkerRow }
  | { readonly kind: "forget-worker"; readonly namespace: string; readonly worker: string }
  | {
      readonly kind: "release-worker";
      readonly namespace: string;
      readonly worker: string;
      readonly isDead: boolean;
      readonly after: number;
    }
  | {
      readonly kind: "prune-runs";
      readonly namespace: string;
      readonly endedBefore: number;
      readonly limit: number;
    };

export type WorkflowLook =
  | { readonly kind: "history"; readonly ref: number; readonly after: number; readonly bytes: number }
  | { readonly kind: "run-inbox"; readonly ref: number; readonly after: number; readonly limit: number }
  | { readonly kind: "run"; readonly key: RunKey }
  | { readonly kind: "runs"; readonly query: RunQuery }
  | { readonly kind: "count-runs"; readonly query: RunQuery }
  | { readonly kind: "workers"; readonly namespace: string }
  | {
      readonly kind: "stickiness";
      readonly namespace: string;
      readonly owners: readonly string[];
      readonly after: number;
    };

export const WORKFLOW_WRITES = [
  ...(["start-runs", "arrive", "append", "close-run", "claim-tasks", "renew-tasks", "return-tasks"] as const),
  ...(["wake-run", "watch-ends", "worker-seen", "forget-worker", "release-worker", "prune-runs"] as const),
];
/**
 * Requests that are recognised by their ids when they are repeated: one with an ambiguous outcome may simply
 * be repeated.
 */
export const WORKFLOW_KNOWN = ["start-runs", "arrive", "append"] as const;
export const WORKFLOW_DOUBTFUL = [...WORKFLOW_KNOWN, "close-run", "return-tasks", "forget-worker"] as const;

/**
 * A list request may end early, so that other requests get their turn: the next one continues below `before`.
 */
export interface RunsAnswer {
  readonly runs: readonly StoredRun[];
  readonly before: number | undefined;
}
export interface CountAnswer {
  readonly count: number;
  readonly before: number | undefined;
}
export interface StickinessAnswer {
  readonly runs: number;
  readonly ready: number;
  readonly leased: number;
  readonly owned: number;
  /** The last task that was read; there are more behind it. */
  readonly after: number | undefined;
}
export interface ReleaseAnswer {
  /** Tasks that were leased to it. */
  readonly released: number;
  /** Released tasks, and tasks that had affinity to it. */
  readonly changed: number;
  /** The last task that was read; there are more behind it. */
  readonly after: number | undefined;
}
