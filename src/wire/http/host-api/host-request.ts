// One request to the host itself, as its handlers see it.
import { parseDuration } from "../../../kernel/durations.ts";
import { LimpetError } from "../../../kernel/errors.ts";
import type { AdminAnswer, AdminRequest } from "../../../ports/admin.ts";
import type { ServerHost } from "../../../ports/host-admin.ts";
import { emptyAnswer, type HttpAnswer, jsonAnswer } from "../answers.ts";
import type { HttpExchange } from "../exchange.ts";
import type { HttpRoute, PathNames } from "../route.ts";

export interface HostRequest<Name extends string = string> {
  readonly host: ServerHost;
  readonly exchange: HttpExchange;
  /** The parameters of the path. */
  readonly names: PathNames<Name>;
  /** The text after the question mark. */
  readonly query: string;
  renderMetrics(): string;
}

export interface HostRoute extends HttpRoute {
  handler(request: HostRequest): Promise<HttpAnswer> | HttpAnswer;
}

/**
 * The handler of a route that passes one request of an operator to the host, and the answer to the client.
 */
export function adminHandler<Name extends string, Request extends AdminRequest>(
  read: (http: HostRequest<Name>) => Request | Promise<Request>,
  show: (answer: AdminAnswer<Request>) => unknown = (answer) => answer,
): (http: HostRequest<Name>) => Promise<HttpAnswer> {
  return async (http) => {
    const answer = await http.host.admin(await read(http), { gone: http.exchange.gone });
    return answer === undefined ? emptyAnswer(204) : jsonAnswer(200, show(answer));
  };
}

/** The timeout of a caller, from its header. Undefined: the default of the host applies. */
export function parseTimeout(text: string | string[] | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = parseDuration(String(text), "header limpet-timeout");
  if (ms === 0) throw new LimpetError("OPTION_INVALID", "header limpet-timeout must be longer than 0");
  return ms;
}
