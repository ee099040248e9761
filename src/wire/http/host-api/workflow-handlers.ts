// Handlers of workflow requests for operators and scripts: describe, start, signal, query, update and end a
// workflow. Workers in other languages have their own protocol (http-workers/api/).
import type { AdminRequest } from "../../../ports/admin.ts";
import type { EventPage } from "../../../ports/workflow-admin.ts";
import { emptyAnswer, encodingFor, type HttpAnswer, jsonAnswer, thrownAnswer, valueAnswer } from "../answers.ts";
import { isExactType, parseBody } from "../body.ts";
import { type HostRequest, parseTimeout } from "./host-request.ts";
import { parseEnding, parseMessage, parseStart, parseWake } from "./workflow-body.ts";
import { formatRunCursor, parseEventsQuery, parseLook, parseWorkflowQuery } from "./workflow-query.ts";

export type WorkflowAct = "start" | "signal" | "query" | "update" | "cancel" | "terminate" | "wake";

type WorkflowRequest = HostRequest<"workflowId">;
type RequestOf<Kind> = Extract<AdminRequest, { kind: Kind }>;

export const readWorkflows = ({ query }: HostRequest<never>): RequestOf<"workflows"> => {
  return { kind: "workflows", query: parseWorkflowQuery(query) };
};

export function readLook({ names: { workflowId }, query }: WorkflowRequest): RequestOf<"workflow"> {
  const { runId, steps } = parseLook(query);
  return { kind: "workflow", run: { workflowId, runId }, steps };
}

export function readEventsRequest({ names: { workflowId }, query }: WorkflowRequest): RequestOf<"workflowEvents"> {
  const { runId, after, limit } = parseEventsQuery(query);
  return { kind: "workflowEvents", run: { workflowId, runId }, after, limit };
}

export const travellingEvents = ({ events, next }: EventPage) => ({ events, next: formatRunCursor(next) });

export async function steerWorkflow(act: WorkflowAct, { exchange, host }: HostRequest): Promise<HttpAnswer> {
  const { headers } = exchange.request;
  const exactBody = isExactType(headers["content-type"]);
  const request = readSteering(act, parseBody(await exchange.body(), exactBody), headers["limpet-timeout"]);
  const answer = () => host.admin(request, { gone: exchange.gone });
  if (act === "query" || act === "update") return answered(answer, encodingFor(headers.accept, exactBody));
  const started = await answer();
  return started === undefined ? emptyAnswer(204) : jsonAnswer(200, started);
}

function readSteering(act: WorkflowAct, body: unknown, timeout: string | string[] | undefined): AdminRequest {
  switch (act) {
    case "start":
      return { kind: "startWorkflow", request: parseStart(body) };
    case "signal":
      return { kind: "signalWorkflow", ...parseMessage(body, act) };
    case "query":
    case "update": {
      const message = parseMessage(body, act);
      const timeoutMs = parseTimeout(timeout);
      return act === "query"
        ? { kind: "queryWorkflow", ...message }
        : { kind: "updateWorkflow", ...message, timeoutMs };
    }
    case "cancel":
      return { kind: "cancelWorkflow", ...parseEnding(body, act) };
    case "terminate":
      return { kind: "terminateWorkflow", ...parseEnding(body, act) };
    case "wake":
      return { kind: "wakeWorkflow", run: parseWake(body) };
  }
}

/** An error that the code of the workflow throws is its answer. */
async function answered(ask: () => Promise<unknown>, encoding: Parameters<typeof valueAnswer>[1]): Promise<HttpAnswer> {
  let result: unknown;
  try {
    result = await ask();
  } catch (error) {
    return thrownAnswer(error);
  }
  return valueAnswer(result, encoding);
}
