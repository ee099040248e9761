// Commands of a remote worker's task completion, in the form of the engine. Values are in their JSON-ready
// form.
import type { SerializedError } from "../../kernel/serialized-error.ts";
import type {
  ParallelGroup,
  ParentClosePolicy,
  SerializedActivityOptions,
  Wire,
} from "../../workflows/engine/events.ts";
import type { SelectionMember } from "../../workflows/history/selection.ts";

export type LocalOutcome =
  | { readonly result: Wire }
  | {
      readonly failed: "failed" | "timed out" | "cancelled";
      readonly error: SerializedError;
      readonly attempts: number;
    };

export interface InGroup {
  readonly group?: ParallelGroup;
}

export type WorkerCommand =
  | ({
      readonly kind: "schedule_activity";
      readonly name: string;
      readonly input: Wire;
      readonly options: SerializedActivityOptions;
    } & InGroup)
  | ({ readonly kind: "start_timer"; readonly seconds: number } & InGroup)
  | ({
      readonly kind: "start_child_workflow";
      readonly type: string;
      readonly input: Wire;
      readonly queue: string | undefined;
      readonly onParentClose: ParentClosePolicy;
      /** In milliseconds. */
      readonly timeout?: number;
      readonly runTimeout?: number;
    } & InGroup)
  | {
      readonly kind: "open_condition_wait";
      readonly key: string | undefined;
      readonly fingerprint: string | undefined;
      readonly seconds: number | undefined;
    }
  | { readonly kind: "open_signal_wait"; readonly name: string; readonly seconds: number | undefined }
  | { readonly kind: "record_side_effect"; readonly result: Wire }
  | {
      readonly kind: "record_version_marker";
      readonly change: string;
      readonly version: number;
      readonly min: number;
      readonly max: number;
    }
  | { readonly kind: "upsert_search_attributes"; readonly attributes: Wire }
  | { readonly kind: "upsert_memo"; readonly entries: Wire }
  /** An activity that the worker ran within its task, with its outcome. */
  | {
      readonly kind: "record_local_activity";
      readonly name: string;
      readonly input: Wire;
      readonly outcome: LocalOutcome;
    }
  | {
      readonly kind: "cancel_selection_operation";
      readonly selection: string;
      readonly member: SelectionMember;
      readonly identity: string;
    }
  | { readonly kind: "complete_update"; readonly id: string; readonly result: Wire }
  | { readonly kind: "fail_update"; readonly id: string; readonly error: SerializedError }
  | { readonly kind: "complete_workflow"; readonly result: Wire }
  | { readonly kind: "fail_workflow"; readonly error: SerializedError }
  | {
      readonly kind: "continue_as_new";
      readonly type: string | undefined;
      readonly input: Wire;
      readonly queue: string | undefined;
    };
