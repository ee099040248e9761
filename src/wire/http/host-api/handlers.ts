// Handlers of calls, health probes and the description of the host. A handler returns an answer or throws; a
// thrown error becomes an answer too.
import { LimpetError } from "../../../kernel/errors.ts";
import type { ServerHost } from "../../../ports/host-admin.ts";
import {
  emptyAnswer,
  encodingFor,
  errorAnswer,
  type HttpAnswer,
  jsonAnswer,
  thrownAnswer,
  valueAnswer,
} from "../answers.ts";
import { isExactType, parseCallArguments } from "../body.ts";
import type { HttpExchange } from "../exchange.ts";
import { type HostRequest, parseTimeout } from "./host-request.ts";

export const callActor = ({ names, exchange, host }: HostRequest<"type" | "id" | "method">): Promise<HttpAnswer> =>
  call(names.type, names.id, names.method, exchange, host);

/** Without an id in the path, the message names the actor. */
export const callByMessage = ({ names, exchange, host }: HostRequest<"type" | "method">): Promise<HttpAnswer> =>
  call(names.type, undefined, names.method, exchange, host);

async function call(
  type: string,
  id: string | undefined,
  method: string,
  exchange: HttpExchange,
  host: ServerHost,
): Promise<HttpAnswer> {
  const { headers } = exchange.request;
  const timeoutMs = parseTimeout(headers["limpet-timeout"]);
  const exactBody = isExactType(headers["content-type"]);
  const args = parseCallArguments(await exchange.body(), exactBody);
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
export function health(host: ServerHost, exchange: HttpExchange, hasBody: boolean): HttpAnswer {
  const { ready, problem: reason } = host.status();
  const problem = exchange.isTrusted ? reason : "the host is not ready; send a token to read why";
  if (ready && hasBody) return jsonAnswer(200, { status: "serving" });
  return ready ? emptyAnswer(204) : errorAnswer(new LimpetError("NOT_READY", problem ?? "the host is not ready"));
}

/** Describes a host in the shape that tools and SDKs of this API expect. */
export function describeHost(host: ServerHost): unknown {
  const status = host.status();
  const actors = host.types().map(({ type, active }) => ({ type, count: active }));
  return {
    id: status.incarnation,
    runtimeVersion: status.version,
    enabledFeatures: [],
    actors,
    components: [],
    subscriptions: [],
    actorRuntime: {
      runtimeStatus: "RUNNING",
      activeActors: actors,
      hostReady: status.ready,
      placement: `placement: ${status.ready ? "connected" : "disconnected"}`,
    },
    // Every value here must be a text.
    extended: {
      namespace: status.namespace,
      store: status.store,
      startedAt: new Date(status.startedAt).toISOString(),
      address: status.address,
      problem: status.problem,
    },
  };
}
