// Handlers of calls and health probes. A handler returns an answer or throws; a thrown error becomes
// an answer too.
import { LimpetError } from "../../../kernel/errors.ts";
import type { ServerHost } from "../../../ports/host-admin.ts";
import { emptyAnswer, errorAnswer, type HttpAnswer, jsonAnswer, thrownAnswer } from "../answers.ts";
import { isExactType, parseCallArguments } from "../body.ts";
import type { HttpExchange } from "../exchange.ts";
import { encodingFor, valueAnswer } from "../value-answer.ts";
import type { HostRequest } from "./host-request.ts";
import { parseTimeout } from "./timeout-header.ts";

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
