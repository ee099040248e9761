// Handlers of workflow requests for operators and scripts: describe, start, signal, query, update and end a
// workflow. Workers in other languages have their own protocol (http-workers/api/).
import type { RunName, WorkflowAdmin } from "../../../ports/workflow-admin.ts";
import { type Answer, emptyAnswer, jsonAnswer, thrownAnswer } from "../answers.ts";
import { isExact, parseBody } from "../body.ts";
import type { Exchange } from "../exchange.ts";
import type { Route, WorkflowAct } from "../routes.ts";
import { encodingFor, valueAnswer } from "../value-answer.ts";
import { parseTimeout } from "./timeout-header.ts";
import { parseEnding, parseMessage, parseStart, parseWake } from "./workflow-body.ts";
import { formatCursor, parseEventsQuery, parseLook } from "./workflow-query.ts";

export async function lookAtWorkflow(
  { workflowId, query }: Route & { kind: "workflow" },
  workflows: WorkflowAdmin,
): Promise<Answer> {
  const { runId, steps } = parseLook(query);
  return jsonAnswer(200, await workflows.look({ workflowId, runId }, steps));
}

export async function workflowEvents(
  { workflowId, query }: Route & { kind: "workflowEvents" },
  workflows: WorkflowAdmin,
): Promise<Answer> {
  const { runId, after, limit } = parseEventsQuery(query);
  const { events, next } = await workflows.events({ workflowId, runId }, after, limit);
  return jsonAnswer(200, { events, next: formatCursor(next) });
}

export async function steerWorkflow(act: WorkflowAct, exchange: Exchange, workflows: WorkflowAdmin): Promise<Answer> {
  const { headers } = exchange.request;
  const exactBody = isExact(headers["content-type"]);
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
async function answered(ask: () => Promise<unknown>, encoding: Parameters<typeof valueAnswer>[1]): Promise<Answer> {
  let result: unknown;
  try {
    result = await ask();
  } catch (error) {
    return thrownAnswer(error);
  }
  return valueAnswer(result, encoding);
}
