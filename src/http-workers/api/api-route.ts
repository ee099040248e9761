// A route of the workflow API: an entry of a table, with the protocol and the name of its operation.
import type { HttpRoute, PathNames } from "../../wire/http/route.ts";
import type { ApiAnswer, ApiCall } from "./api-call.ts";

/**
 * The version that a request must name: the worker protocol, the control plane, or none. A bundle is
 * requested like the rest of the control plane. Its body is only the bundle, because a verifier reads all of
 * it.
 */
export type ApiProtocol = "worker" | "control" | "bundle" | "open";

export interface ApiRoute extends HttpRoute {
  readonly protocol: ApiProtocol;
  /** For the envelope of the answer. */
  readonly operation: string;
  handler(call: ApiCall<PathNames>): Promise<ApiAnswer> | ApiAnswer;
}

/** The metric label of all requests to the API. */
export const LABEL = "api";

/** An entry of a table; the other fields have defaults. */
export type ApiEntry<Path extends string, Name extends string> = Pick<ApiRoute, "operation" | "summary"> &
  Partial<Omit<ApiRoute, "handler">> & {
    readonly path: Path;
    readonly handler: (call: ApiCall<PathNames<Name>>) => Promise<ApiAnswer> | ApiAnswer;
  };
