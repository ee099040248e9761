// One request to the host itself, as its handlers see it.
import type { Host } from "../../../ports/host-admin.ts";
import type { HttpAnswer } from "../answers.ts";
import type { HttpExchange } from "../exchange.ts";
import type { HttpRoute, PathNames } from "../route.ts";

export interface HostRequest<Name extends string = string> {
  readonly host: Host;
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
