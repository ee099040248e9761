// What the door does for each route. A handler gives an answer or throws; what it throws becomes an answer too.
import { parseDuration } from "../../kernel/durations.ts";
import { LimpetError } from "../../kernel/errors.ts";
import type { Host } from "../../ports/host.ts";
import { EXACT_TYPE, encodeResult } from "../exact.ts";
import { type Answer, emptyAnswer, errorAnswer, jsonAnswer, textAnswer, thrownAnswer } from "./answers.ts";
import { checkBodyHeaders, isExact, parseArguments, parseDrain, parseRelease, readBody } from "./body.ts";
import type { Exchange } from "./exchange.ts";
import { parseListQuery, parseStickyQuery, travellingPage } from "./listing.ts";
import { describeHost } from "./metadata.ts";
import { plainJson } from "./plain-json.ts";
import type { Route } from "./routes.ts";

export interface Behind {
  readonly host: Host;
  readonly renderMetrics: () => string;
}

const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";
const JSON_TYPE = "application/json; charset=utf-8";

export async function handle(route: Route, exchange: Exchange, { host, renderMetrics }: Behind): Promise<Answer> {
  switch (route.kind) {
    case "call":
      return call(route, exchange, host);
    case "health":
      return health(host);
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
    case "drain":
      await host.drain(parseDrain(await readOrder(exchange)));
      return emptyAnswer(204);
    case "release": {
      const { type, id } = parseRelease(await readOrder(exchange));
      await host.release(type, id);
      return emptyAnswer(204);
    }
  }
}

async function readOrder(exchange: Exchange): Promise<Buffer> {
  const { request, response, limits } = exchange;
  checkBodyHeaders(request, limits.bodyBytes);
  return readBody(request, response, exchange.reading());
}

async function holder({ type, id }: Route & { kind: "holder" }, host: Host): Promise<Answer> {
  const { actors } = await host.sticky({ type, id, limit: 1 });
  if (actors[0] !== undefined) return jsonAnswer(200, actors[0]);
  const problem = `no host holds ${type}/${id}: its type is not sticky, or no call has brought it to life`;
  throw new LimpetError("NOT_STICKY", problem);
}

async function call(route: Route & { kind: "call" }, exchange: Exchange, host: Host): Promise<Answer> {
  const { request, response } = exchange;
  const { headers } = request;
  checkBodyHeaders(request, exchange.limits.bodyBytes);
  const timeoutMs = parseTimeout(headers["limpet-timeout"]);
  const exactBody = isExact(headers["content-type"]);
  const args = parseArguments(await readBody(request, response, exchange.reading()), exactBody);
  let result: unknown;
  try {
    result = await host.call(route.type, route.id, route.method, args, { timeoutMs, signal: exchange.gone });
  } catch (error) {
    return thrownAnswer(error);
  }
  if (result === undefined) return emptyAnswer(204);
  if (wantsExact(headers.accept, exactBody)) return textAnswer(200, EXACT_TYPE, encodeResult(result));
  const text = plainJson(result);
  return text === undefined ? emptyAnswer(204) : textAnswer(200, JSON_TYPE, text);
}

/** Whoever sends exact values and does not care what comes back gets exact values. */
function wantsExact(accept: string | undefined, exactBody: boolean): boolean {
  if (accept === undefined || accept === "*/*") return exactBody;
  return accept.split(",").some((type) => isExact(type));
}

function parseTimeout(text: string | string[] | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = parseDuration(String(text), "header limpet-timeout");
  if (ms === 0) throw new LimpetError("OPTION_INVALID", "header limpet-timeout: must be longer than nothing");
  return ms;
}

function health(host: Host): Answer {
  const { ready, problem } = host.status();
  return ready ? emptyAnswer(204) : errorAnswer(new LimpetError("NOT_READY", problem ?? "the host is not ready"));
}
