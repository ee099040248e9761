// Exports a run as a bundle that can be kept and replayed elsewhere: its description, its whole history, and
// a checksum over both. Verifiers serialize the bundle with sorted keys and ASCII text, so the checksum
// covers that form.
import { createHash } from "node:crypto";
import type { StoredRun } from "../../../ports/store/workflows.ts";
import type { RunState } from "../../../workflows/history/run-state.ts";
import { isoTime as iso } from "../api-call.ts";
import { type EncodedEvent, encodeHistory } from "./history-events.ts";
import { argumentsOf, CODEC, envelopeOf } from "./payloads.ts";
import { bucketWord, displayJson, statusWord } from "./run-fields.ts";

const SCHEMA = "durable-workflow.v2.history-export";
const CANONICAL = "json-recursive-ksort-v1";

export function exportBundle(stored: StoredRun, run: RunState, now: number): Record<string, unknown> {
  const events = encodeHistory(run, 0, stored.events, Number.MAX_SAFE_INTEGER);
  const end = JSON.parse(stored.result ?? "{}") as { result?: unknown; error?: { message?: string } };
  const isCompleted = stored.status === "completed";
  const bundle = {
    schema: SCHEMA,
    schema_version: 1,
    exported_at: iso(now),
    dedupe_key: `${stored.runId}:${stored.events}`,
    history_complete: stored.status !== "running",
    workflow: {
      instance_id: stored.workflowId,
      run_id: stored.runId,
      workflow_type: stored.type,
      workflow_class: stored.type,
      status: statusWord(stored),
      status_bucket: bucketWord(stored.status),
      task_queue: stored.queue,
      last_history_sequence: stored.events,
      started_at: iso(stored.startedAt),
      closed_at: iso(stored.closedAt),
      memo: displayJson(JSON.parse(stored.memo)),
      search_attributes: displayJson(JSON.parse(stored.attributes)),
    },
    payloads: {
      codec: CODEC,
      arguments: { available: true, data: argumentsOf(run.started.input).blob },
      output: isCompleted ? { available: true, data: envelopeOf(end.result).blob } : { available: false, data: null },
    },
    // Some readers expect the kind of an event as its type.
    history_events: events.map((event) => ({ ...event, type: event.event_type })),
    commands: [],
    signals: events.filter(({ event_type }) => event_type === "SignalReceived").map(payloadOf),
    updates: events.filter(({ event_type }) => event_type === "UpdateAccepted").map(payloadOf),
    tasks: [],
    activities: events.filter(({ event_type }) => event_type === "ActivityScheduled").map(payloadOf),
    timers: events.filter(({ event_type }) => event_type === "TimerScheduled").map(payloadOf),
    failures: end.error === undefined ? [] : [{ message: end.error.message ?? null }],
    links: { parents: [], children: [] },
    redaction: { applied: false, policy: null, paths: [] },
    codec_schemas: {},
    payload_manifest: { version: 1, entries: [] },
  };
  return { ...bundle, integrity: integrityOf(bundle) };
}

const payloadOf = ({ payload }: EncodedEvent): unknown => payload;

function integrityOf(bundle: unknown): Record<string, unknown> {
  return {
    canonicalization: CANONICAL,
    checksum_algorithm: "sha256",
    checksum: createHash("sha256").update(canonical(bundle)).digest("hex"),
    signature_algorithm: null,
    signature: null,
    key_id: null,
  };
}

/** Serializes with sorted keys and in ASCII. */
const canonical = (value: unknown): string =>
  sorted(JSON.parse(JSON.stringify(value))).replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

function sorted(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sorted).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  // Texts are compared by code units here, and by code points in verifiers; the order is the same for all
  // existing keys.
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return `{${entries.map(([key, each]) => `${JSON.stringify(key)}:${sorted(each)}`).join(",")}}`;
}
