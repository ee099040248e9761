// Cancellation with a cleanup, in the protocol of workers in other languages: the request, its delivery, and
// their events. Pure.

import { isoMoment as iso } from "../../../kernel/durations.ts";
import type { CleanupRequest, Delivery, RunState } from "../../../workflows/history/run-state.ts";
import { CALL_KINDS } from "../../commands/cleanup.ts";
import { invalidField } from "../../refusal.ts";
import { type Fields, oneOf, optionalWhole, text, whole } from "../fields.ts";

type Payload = Record<string, unknown>;

const MOST_STEP = 10_000_000;
const MOST_SPAN = 1_000;
/** From the first event on: a worker that is cancelled reads the whole history. */
const FIRST_PAGE = Buffer.from("0").toString("base64");
const CONTEXT = "durable-workflow.cancellation-context/v1";

/** The request as workers and clients see it. */
export const encodeCleanupRequest = ({ id, at, deadline }: CleanupRequest): Payload => ({
  request_id: id,
  requested_at: iso(at),
  cleanup_deadline_at: iso(deadline),
  history_refresh_page_token: FIRST_PAGE,
});

export const cleanupFields = ({ cleanup }: RunState): Payload =>
  cleanup === undefined ? {} : { cancellation_request: encodeCleanupRequest(cleanup) };

export function parseDelivery(fields: Fields): Delivery {
  const sequence = whole(fields, "sequence", 1, MOST_STEP);
  const span = optionalWhole(fields, "sequence_span", 1, MOST_SPAN) ?? 1;
  const call = oneOf(fields, "call_kind", CALL_KINDS);
  if (call === undefined) throw invalidField("call_kind", "is required");
  if (call !== "parallel" && span !== 1) throw invalidField("sequence_span", "must be 1 unless call_kind is parallel");
  const operation = operationOf(fields, call === "selection_handle", sequence);
  const id = text(fields, "request_id");
  return operation === undefined ? { id, sequence, span, call } : { id, sequence, span, call, operation };
}

/** The steps of an earlier selection that the call waits for. */
function operationOf(fields: Fields, isHandle: boolean, sequence: number): Delivery["operation"] {
  const first = optionalWhole(fields, "operation_sequence", 1, MOST_STEP);
  const span = optionalWhole(fields, "operation_sequence_span", 1, MOST_SPAN) ?? 1;
  if (isHandle !== (first !== undefined)) {
    throw invalidField("operation_sequence", "is for calls of kind selection_handle only");
  }
  if (first === undefined) return undefined;
  if (first + span > sequence) throw invalidField("operation_sequence", "must be earlier than the call");
  return { sequence: first, span };
}

export function requestEvent(run: RunState, { id, at, deadline, reason }: CleanupRequest): Payload {
  const names = { workflow_instance_id: run.workflowId, workflow_run_id: run.runId };
  const times = { requested_at: iso(at), cleanup_deadline_at: iso(deadline) };
  const given = { reason: reason === "" ? null : reason };
  return {
    workflow_command_id: id,
    ...names,
    ...times,
    ...given,
    cancellation: {
      schema: CONTEXT,
      request_id: id,
      root_request_id: id,
      parent_request_id: null,
      root_workflow_instance_id: run.workflowId,
      root_workflow_run_id: run.runId,
      ...given,
      ...times,
      requester: { type: "api" },
      source: "control_plane",
      lineage: [{ request_id: id, ...names }],
    },
  };
}

export function deliveryEvent({ runId, workflowId }: RunState, delivery: Delivery): Payload {
  const { id, sequence, span, call, operation } = delivery;
  return {
    workflow_command_id: id,
    workflow_instance_id: workflowId,
    workflow_run_id: runId,
    sequence,
    sequence_span: span,
    call_kind: call,
    operation_sequence: operation?.sequence,
    operation_sequence_span: operation?.span,
  };
}
