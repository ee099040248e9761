// The handler of each route. A handler returns an answer or throws; a thrown error becomes an answer too.

import { handleApi } from "../../../http-workers/api/worker-api.ts";
import type { RemotePlane } from "../../../http-workers/plane.ts";
import { LimpetError } from "../../../kernel/errors.ts";
import type { Host } from "../../../ports/host-admin.ts";
import { type Answer, emptyAnswer, errorAnswer, jsonAnswer, textAnswer, thrownAnswer } from "../answers.ts";
import { isExact, parseArguments, parseDrain, parseRelease } from "../body.ts";
import type { Exchange } from "../exchange.ts";
import type { Route } from "../routes.ts";
import { encodingFor, valueAnswer } from "../value-answer.ts";
import {
  parseListQuery,
  parseReminderQuery,
  parseStickyQuery,
  travellingPage,
  travellingReminders,
} from "./listing.ts";
import { describeHost } from "./metadata.ts";
import { dropReminder, reminder, retryReminder } from "./reminder-handlers.ts";
import { parseSteering } from "./shards-body.ts";
import { parseTimeout } from "./timeout-header.ts";
import { lookAtWorkflow, steerWorkflow, workflowEvents } from "./workflow-handlers.ts";
import { parseWorkflowQuery, travellingWorkflows } from "./workflow-query.ts";

export interface HttpHandlersDeps {
  readonly host: Host;
  /** For workers in other languages; undefined when this host serves none. */
  readonly workflows?: RemotePlane | undefined;
  readonly renderMetrics: () => string;
}

const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export async function handle(route: Route, exchange: Exchange, deps: HttpHandlersDeps): Promise<Answer> {
  const { host, renderMetrics, workflows } = deps;
  switch (route.kind) {
    case "api":
      if (workflows === undefined) throw new LimpetError("ROUTE_UNKNOWN", "this host serves no workflows");
      return handleApi(route, exchange, workflows, host.status());
    case "call":
      return call(route, route.id, exchange, host);
    case "message":
      return call(route, undefined, exchange, host);
    case "health":
      return health(host, exchange, route.hasBody === true);
    case "live":
      return emptyAnswer(204);
    case "metadata":
      return jsonAnswer(200, describeHost(host));
    case "metrics":
      return textAnswer(200, METRICS_TYPE, renderMetrics());
    case "list":
      return jsonAnswer(200, travellingPage(await host.list(parseListQuery(route.query))));
    case "explain":
      return jsonAnswer(200, await host.explain(route.type, route.id));
    case "cluster":
      return jsonAnswer(200, await host.cluster());
    case "where":
      return jsonAnswer(200, await host.where(route.type, route.id));
    case "sticky":
      return jsonAnswer(200, travellingPage(await host.sticky(parseStickyQuery(route.query))));
    case "holder":
      return holder(route, host);
    case "shardedTypes":
      return jsonAnswer(200, { types: await host.shardedTypes() });
    case "shards":
      return jsonAnswer(200, await host.shards(route.type));
    case "steerShards": {
      const { type, steering } = parseSteering(route.act, await exchange.body());
      await host.steerShards(type, steering);
      return emptyAnswer(204);
    }
    case "reminder":
      return reminder(route, exchange, host.reminders);
    case "reminders":
      return jsonAnswer(200, travellingReminders(await host.reminders.list(parseReminderQuery(route.query))));
    case "deadReminders":
      return jsonAnswer(200, travellingReminders(await host.reminders.listDead(parseReminderQuery(route.query))));
    case "reminderCounts":
      return jsonAnswer(200, await host.reminders.count());
    case "retryReminder":
      return retryReminder(exchange, host.reminders);
    case "dropReminder":
      return dropReminder(exchange, host.reminders);
    case "workflows":
      return jsonAnswer(200, travellingWorkflows(await host.workflows.list(parseWorkflowQuery(route.query))));
    case "workflowCounts":
      return jsonAnswer(200, await host.workflows.count());
    case "workers":
      return jsonAnswer(200, await host.workflows.workers());
    case "workflow":
      return lookAtWorkflow(route, host.workflows);
    case "workflowEvents":
      return workflowEvents(route, host.workflows);
    case "steerWorkflow":
      return steerWorkflow(route.act, exchange, host.workflows);
    case "drain":
      await host.drain(parseDrain(await exchange.body()));
      return emptyAnswer(204);
    case "release": {
      const { type, id } = parseRelease(await exchange.body());
      await host.release(type, id);
      return emptyAnswer(204);
    }
  }
}

async function holder({ type, id }: Route & { kind: "holder" }, host: Host): Promise<Answer> {
  const { actors } = await host.sticky({ type, id, limit: 1 });
  if (actors[0] !== undefined) return jsonAnswer(200, actors[0]);
  const problem = `no host holds ${type}/${id}: its type is not sticky, or no call has activated it`;
  throw new LimpetError("NOT_STICKY", problem);
}

/** Without an id in the path, the message names the actor. */
async function call(
  { type, method }: { readonly type: string; readonly method: string },
  id: string | undefined,
  exchange: Exchange,
  host: Host,
): Promise<Answer> {
  const { headers } = exchange.request;
  const timeoutMs = parseTimeout(headers["limpet-timeout"]);
  const exactBody = isExact(headers["content-type"]);
  const args = parseArguments(await exchange.body(), exactBody);
  let result: unknown;
  try {
    result = await host.call(type, id, method, args, { timeoutMs, signal: exchange.gone });
  } catch (error) {
    return thrownAnswer(error);
  }
  return valueAnswer(result, encodingFor(headers.accept, exactBody));
}

/**
 * The reason may name the database with its user and address. Where tokens are set, only clients with a token
 * read it.
 */
function health(host: Host, exchange: Exchange, hasBody: boolean): Answer {
  const { ready, problem: reason } = host.status();
  const problem = exchange.isTrusted ? reason : "the host is not ready; send a token to read why";
  if (ready && hasBody) return jsonAnswer(200, { status: "serving" });
  return ready ? emptyAnswer(204) : errorAnswer(new LimpetError("NOT_READY", problem ?? "the host is not ready"));
}
