// Handlers of workflow requests for operators and scripts: describe, start, signal, query, update and end a
// workflow. Workers in other languages have their own protocol (http-workers/api/).
import type { RunName, WorkflowAdmin } from "../../../ports/workflow-admin.ts";
import { emptyAnswer, type HttpAnswer, jsonAnswer, thrownAnswer } from "../answers.ts";
import { isExactType, parseBody } from "../body.ts";
import type { HttpExchange } from "../exchange.ts";
import { encodingFor, valueAnswer } from "../value-answer.ts";
import type { HostRequest } from "./host-request.ts";
import { parseTimeout } from "./timeout-header.ts";
import { parseEnding, parseMessage, parseStart, parseWake } from "./workflow-body.ts";
import { formatRunCursor, parseEventsQuery, parseLook } from "./workflow-query.ts";

export type WorkflowAct = "start" | "signal" | "query" | "update" | "cancel" | "terminate" | "wake";

type WorkflowRequest = HostRequest<"workflowId">;

export async function lookAtWorkflow({ host, names: { workflowId }, query }: WorkflowRequest): Promise<HttpAnswer> {
  const { runId, steps } = parseLook(query);
  return jsonAnswer(200, await host.workflows.look({ workflowId, runId }, steps));
}

export async function workflowEvents({ host, names: { workflowId }, query }: WorkflowRequest): Promise<HttpAnswer> {
  const { runId, after, limit } = parseEventsQuery(query);
  const { events, next } = await host.workflows.events({ workflowId, runId }, after, limit);
  return jsonAnswer(200, { events, next: formatRunCursor(next) });
}

export async function steerWorkflow(
  act: WorkflowAct,
  exchange: HttpExchange,
  workflows: WorkflowAdmin,
): Promise<HttpAnswer> {
  const { headers } = exchange.request;
  const exactBody = isExactType(headers["content-type"]);
  const body = parseBody(await exchange.body(), exactBody);
  switch (act) {
    case "start":
      return jsonAnswer(200, await workflows.start(parseStart(body)));
    case "signal": {
      const { run, name, input } = parseMessage(body, act);
      await workflows.signal(run, name, input);
      return emptyAnswer(204);
    }
    case "query":
    case "update": {
      const { run, name, input } = parseMessage(body, act);
      const timeoutMs = parseTimeout(headers["limpet-timeout"]);
      const ask = () =>
        act === "query"
          ? workflows.query(run, name, input)
          : workflows.update(run, name, input, { timeoutMs, gone: exchange.gone });
      return answered(ask, encodingFor(headers.accept, exactBody));
    }
    case "cancel":
    case "terminate": {
      const { run, reason } = parseEnding(body, act);
      await (act === "cancel" ? workflows.cancel(run, reason) : workflows.terminate(run, reason));
      return emptyAnswer(204);
    }
    case "wake":
      await workflows.wake(parseWake(body) satisfies RunName);
      return emptyAnswer(204);
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
