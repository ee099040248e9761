// Routes of the HTTP server, as entries of declarative tables. A group is one table with its own prefix,
// names and error bodies; the server gets all groups when it opens.
import { LimpetError } from "../../kernel/errors.ts";
import type { HttpAnswer } from "./answers.ts";
import type { HttpExchange } from "./exchange.ts";

/** In the order of the `allow` header. */
export const VERBS = ["GET", "POST", "PUT", "DELETE"] as const;
export type Verb = (typeof VERBS)[number];

/**
 * The permission that a route requires. Only `health` has an effect: it needs no token, because orchestrators
 * have none. A valid token has all other permissions.
 */
export const SCOPES = ["health", "read", "call", "operate", "worker"] as const;
export type Scope = (typeof SCOPES)[number];

export interface RouteLimits {
  /** Bytes of the body, beside the limit of the server; 0: the handler reads no body. */
  readonly bodyBytes: number;
  /**
   * The bound of the handler's time. `memory`: it waits for nothing. `store`: the timeouts of the store and
   * of the leader. `call`: the deadline of the caller. `poll`: the wait that the client requests, up to a
   * minute.
   */
  readonly time: "memory" | "store" | "call" | "poll";
}

export interface HttpRoute {
  /** Each segment is a literal or a parameter: `/v1.0/actors/{type}/{id}/method/{method}`. */
  readonly path: string;
  readonly verbs: readonly Verb[];
  readonly limits: RouteLimits;
  readonly scope: Scope;
  /** The metric label. Few routes have one of their own, so that the number of time series stays small. */
  readonly label: string;
  /** The effect in one line, for display. */
  readonly summary: string;
  /** The host answers even when its memory for requests is used up. */
  readonly isServedWhenFull?: true;
  /** The host answers even while it stops. */
  readonly isServedWhenStopping?: true;
}

/** The decoded parameters of a path, by name. */
export type PathNames<Name extends string = string> = Readonly<Record<Name, string>>;

/** The names of the parameters in a path. */
export type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never;

export interface RouteGroup<Entry extends HttpRoute = HttpRoute> {
  /** The group answers for unknown paths that begin with it. */
  readonly prefix: string;
  /** The metric label of requests for unknown paths. */
  readonly label: string;
  readonly routes: readonly Entry[];
  /** Decodes and checks one parameter; throws when it is invalid. */
  readName(encoded: string, parameter: string, route: Entry): string;
  handle(route: Entry, names: PathNames, query: string, exchange: HttpExchange): Promise<HttpAnswer> | HttpAnswer;
  /** Answers a request without a route. `allow`: the verbs of its path, if the path exists. */
  refuse(problem: LimpetError, verb: string, allow: string | undefined): HttpAnswer;
}

/** Decodes `%20`; `subject` names the text in the error. */
export function decodePercent(text: string, subject: string): string {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    throw new LimpetError("NAME_INVALID", `${subject} is not percent-encoded UTF-8`);
  }
}
