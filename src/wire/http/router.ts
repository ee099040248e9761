// Finds the route of a request line in the tables of all groups. Pure.
// The raw path is split before anything is decoded, and nothing is normalised: `%2e%2e` is the name `..` and
// `%2F` is a slash inside a name, and both are rejected as names. A path never means another path.
//
// The tables are one tree of segments. A literal segment takes precedence over a parameter.
import { invariant, isLimpetError, LimpetError } from "../../kernel/errors.ts";
import { type HttpRoute, type PathNames, type RouteGroup, VERBS } from "./route.ts";

/** The outcome of a search: a route with its names, or a problem. */
export interface RouteMatch {
  readonly group: RouteGroup;
  /** With a wrong verb, any route of the path; undefined: the path is unknown. */
  readonly route: HttpRoute | undefined;
  readonly names: PathNames;
  readonly query: string;
  readonly problem: LimpetError | undefined;
  /** The verbs of the path, when the verb is wrong. */
  readonly allow: string | undefined;
}

/** All routes of one path. */
interface PathRoutes {
  readonly group: RouteGroup;
  readonly path: string;
  readonly parameters: readonly { readonly name: string; readonly at: number }[];
  readonly byVerb: Map<string, HttpRoute>;
}

class Segment {
  readonly literals = new Map<string, Segment>();
  parameter: Segment | undefined;
  routes: PathRoutes | undefined;

  /** The routes of the path from this segment on; `at`: the index of the next part. */
  find(parts: readonly string[], at: number): PathRoutes | undefined {
    if (at === parts.length) return this.routes;
    const found = this.literals.get(parts[at]!)?.find(parts, at + 1);
    return found ?? this.parameter?.find(parts, at + 1);
  }

  /** The segment below this one, which is made if it is new. */
  below(part: string): Segment {
    if (parameterOf(part) !== undefined) {
      this.parameter ??= new Segment();
      return this.parameter;
    }
    const segment = this.literals.get(part) ?? new Segment();
    this.literals.set(part, segment);
    return segment;
  }
}

const TARGET = /^\/[\x21-\x7e]*$/;
const NO_NAMES: PathNames = {};

export class HttpRouter {
  readonly #root = new Segment();
  /** The longest prefix first; the last one is `/`. */
  readonly #groups: readonly RouteGroup[];

  constructor(groups: readonly RouteGroup[]) {
    this.#groups = groups.toSorted((a, b) => b.prefix.length - a.prefix.length);
    invariant(this.#groups.at(-1)?.prefix === "/", "no group of routes has the prefix /");
    for (const group of groups) for (const route of group.routes) this.#add(group, route);
  }

  #add(group: RouteGroup, route: HttpRoute): void {
    const { path } = route;
    const parts = path.split("/").slice(1);
    let segment = this.#root;
    for (const part of parts) segment = segment.below(part);
    const parameters = parts.flatMap((part, i) => {
      const name = parameterOf(part);
      return name === undefined ? [] : [{ name, at: i + 1 }];
    });
    segment.routes ??= { group, path, parameters, byVerb: new Map() };
    const { byVerb, ...known } = segment.routes;
    invariant(known.path === path && known.group === group, `${path} and ${known.path} are the same path`);
    for (const verb of route.verbs) {
      invariant(!byVerb.has(verb), `two routes have ${verb} ${path}`);
      byVerb.set(verb, route);
    }
  }

  find(verb: string, target: string): RouteMatch {
    // Everything else in a URL must be percent-encoded; this also rejects `http://…` and `*` as targets.
    if (!TARGET.test(target)) {
      const problem = "the request target must be a path of printable ASCII; percent-encode everything else";
      return unmatched(this.#groups.at(-1)!, new LimpetError("REQUEST_INVALID", problem));
    }
    const mark = target.indexOf("?");
    const path = mark === -1 ? target : target.slice(0, mark);
    const parts = path.split("/");
    const found = this.#root.find(parts, 1);
    if (found === undefined) {
      const group = this.#groups.find(({ prefix }) => path.startsWith(prefix))!;
      return unmatched(group, new LimpetError("ROUTE_UNKNOWN", "no route has this path"));
    }
    const { group, byVerb } = found;
    const route = byVerb.get(verb);
    if (route === undefined) return wrongVerb(found, verb);
    const names: Record<string, string> = {};
    try {
      for (const { name, at } of found.parameters) names[name] = group.readName(parts[at]!, name, route);
    } catch (error) {
      if (!isLimpetError(error)) throw error;
      return unmatched(group, error, route);
    }
    const query = mark === -1 ? "" : target.slice(mark + 1);
    return { group, route, names, query, problem: undefined, allow: undefined };
  }
}

/** The parameter of a segment such as `{type}`. */
export function parameterOf(part: string): string | undefined {
  return part.startsWith("{") && part.endsWith("}") ? part.slice(1, -1) : undefined;
}

function unmatched(group: RouteGroup, problem: LimpetError, route?: HttpRoute, allow?: string): RouteMatch {
  return { group, route, names: NO_NAMES, query: "", problem, allow };
}

function wrongVerb({ group, byVerb }: PathRoutes, verb: string): RouteMatch {
  const allow = VERBS.filter((each) => byVerb.has(each)).join(", ");
  const problem = new LimpetError("VERB_NOT_ALLOWED", `${verb} is not possible here; use ${allow}`);
  return unmatched(group, problem, byVerb.values().next().value, allow);
}
