// Describes this system to a worker in another language before it registers: versions and capabilities. A
// worker refuses to start when a capability that it needs is missing, so every entry is a promise. Pure.

import { LIMITS } from "../../kernel/limits.ts";
import {
  HISTORY_SUGGESTED_BYTES,
  HISTORY_SUGGESTED_EVENTS,
  type HistoryLimit,
} from "../../workflows/engine/history-budget.ts";
import { MEMO_LIMITS } from "../commands/memo.ts";
import { HEARTBEAT_SECONDS, STALE_SECONDS } from "../workers.ts";
import { COMMAND_NAMES, MOST_COMMANDS, REFUSED_COMMANDS } from "./format/commands.ts";

export const PROTOCOL_VERSION = "1.20";
export const CONTROL_VERSION = "2";
export const PROTOCOL_HEADER = "x-durable-workflow-protocol-version";
export const CONTROL_HEADER = "x-durable-workflow-control-plane-version";
export const NAMESPACE_HEADER = "x-namespace";

export const LONG_POLL_SECONDS = 30;
export const MOST_POLL_SECONDS = 60;
export const HISTORY_PAGE = 500;
export const MOST_HISTORY_PAGE = 1_000;

const CAPABILITIES = {
  long_poll_timeout: LONG_POLL_SECONDS,
  query_tasks: true,
  poll_status: true,
  workflow_task_poll_request_idempotency: true,
  history_page_size_default: HISTORY_PAGE,
  history_page_size_max: MOST_HISTORY_PAGE,
  supported_workflow_task_commands: COMMAND_NAMES,
  refused_workflow_task_commands: REFUSED_COMMANDS,
  cooperative_cancellation: true,
  durable_selection: { supported: true, conditions: false },
  local_activities: { supported: true, groups: false },
  workflow_memo_updates: {
    supported: true,
    max_entries: MEMO_LIMITS.entries,
    max_value_bytes: MEMO_LIMITS.valueBytes,
    max_total_bytes: MEMO_LIMITS.totalBytes,
  },
  activity_retry_policy: true,
  activity_timeouts: true,
  parent_close_policy: true,
  child_workflow_timeouts: true,
  non_retryable_failures: true,
  update_validation_tasks: true,
  synchronous_update_validation: {
    supported: true,
    acceptance_boundary: "validator_approved",
    worker_capability: "update_validation_tasks",
    workflow_contract_field: "update_validators",
    task_poll: {
      strategy: "multiplexed",
      endpoint: "/worker/workflow-tasks/poll",
      request_field: "task_kinds",
      task_kinds: ["workflow", "update_validation"],
      response_discriminator: "task.task_kind",
    },
  },
  worker_status: { heartbeat_interval_seconds: HEARTBEAT_SECONDS, stale_after_seconds: STALE_SECONDS },
} as const;

/** Values that differ from host to host. */
export interface AnnouncedSettings {
  readonly isSticky: boolean;
  readonly stickyMs: number;
  readonly taskLeaseMs: number;
  readonly activityLeaseMs: number;
  readonly historyLimit: HistoryLimit;
}

export function serverCapabilities({
  isSticky,
  stickyMs,
  taskLeaseMs,
  activityLeaseMs,
  historyLimit,
}: AnnouncedSettings) {
  return {
    ...CAPABILITIES,
    // `supported` states that the fields are understood; workers that keep runs in memory require it.
    sticky_execution: { supported: true, enabled: isSticky, ttl_seconds: stickyMs / 1_000, history_tail: true },
    workflow_history_budget: {
      recommended_events: HISTORY_SUGGESTED_EVENTS,
      recommended_bytes: HISTORY_SUGGESTED_BYTES,
      max_events: historyLimit.events,
      max_bytes: historyLimit.bytes,
    },
    leases: { workflow_task_seconds: taskLeaseMs / 1_000, activity_task_seconds: activityLeaseMs / 1_000 },
  };
}

const REQUEST_CONTRACT = {
  schema: "durable-workflow.v2.control-plane-request.contract",
  version: 1,
  operations: { update: { fields: { wait_for: { canonical_values: ["accepted", "completed"] } } } },
} as const;

const AUTH_CONTRACT = {
  schema: "durable-workflow.v2.auth-composition.contract",
  version: 1,
  precedence: {
    connection_values: ["flag", "environment", "selected_profile", "default"],
    profile_selection: ["flag_env", "DW_ENV", "current_profile", "default_profile"],
  },
  canonical_environment: {
    server_url: "DURABLE_WORKFLOW_SERVER_URL",
    namespace: "DURABLE_WORKFLOW_NAMESPACE",
    auth_token: "DURABLE_WORKFLOW_AUTH_TOKEN",
    tls_verify: "DURABLE_WORKFLOW_TLS_VERIFY",
    profile: "DW_ENV",
  },
  auth_material: {
    token: { status: "supported", effective_config_value: "redacted" },
    mtls: { status: "reserved" },
    signed_headers: { status: "reserved" },
  },
  effective_config: { required_fields: ["server_url", "namespace", "profile", "auth", "tls", "identity"] },
  redaction: { never_echo: ["bearer_tokens", "private_keys", "raw_authorization_headers"] },
} as const;

export function clusterInfo(
  host: { readonly incarnation: string; readonly version: string; readonly namespace: string },
  settings: AnnouncedSettings,
) {
  return {
    server_id: host.incarnation,
    version: host.version,
    default_namespace: host.namespace,
    capabilities: { payload_codecs: ["avro"] },
    control_plane: {
      version: CONTROL_VERSION,
      header: "X-Durable-Workflow-Control-Plane-Version",
      request_contract: REQUEST_CONTRACT,
    },
    worker_protocol: {
      version: PROTOCOL_VERSION,
      header: "X-Durable-Workflow-Protocol-Version",
      server_capabilities: serverCapabilities(settings),
    },
    auth_composition_contract: AUTH_CONTRACT,
    limits: { max_payload_bytes: LIMITS.workflowPayloadBytes, max_commands_per_task: MOST_COMMANDS },
  };
}
