// From a request line to what is asked for. Pure.
// The raw path is split before anything is decoded, and nothing is normalised: `%2e%2e` is the name `..` and `%2F` is
// a slash inside a name, and both are refused as names. A path never means another path.
import { LimpetError } from "../../kernel/errors.ts";
import { checkId, checkMethod, checkType } from "../../kernel/names.ts";

export type Route =
  | { readonly kind: "call"; readonly type: string; readonly id: string; readonly method: string }
  | { readonly kind: "health" }
  | { readonly kind: "metadata" }
  | { readonly kind: "metrics" }
  | { readonly kind: "list"; readonly query: string }
  | { readonly kind: "explain"; readonly type: string; readonly id: string }
  | { readonly kind: "cluster" }
  | { readonly kind: "where"; readonly type: string; readonly id: string }
  | { readonly kind: "sticky"; readonly query: string }
  | { readonly kind: "holder"; readonly type: string; readonly id: string }
  | { readonly kind: "drain" }
  | { readonly kind: "release" };

export type RouteKind = Route["kind"];

export type Routed =
  | { readonly kind: RouteKind; readonly route: Route }
  | { readonly kind: RouteKind | "none"; readonly refused: LimpetError; readonly allow?: string };

const CALL_VERBS = ["GET", "POST", "PUT", "DELETE"];
const LOOK_VERBS = ["GET"];
const ACT_VERBS = ["POST"];

function verbsOf(kind: RouteKind): readonly string[] {
  if (kind === "call") return CALL_VERBS;
  return kind === "drain" || kind === "release" ? ACT_VERBS : LOOK_VERBS;
}

export function findRoute(verb: string, target: string): Routed {
  // Everything else in a URL has to be percent-encoded; this also refuses `http://…` and `*` as targets.
  if (!/^\/[\x21-\x7e]*$/.test(target)) {
    const problem = "the request target must be a path of printable ASCII; percent-encode everything else";
    return { kind: "none", refused: new LimpetError("REQUEST_INVALID", problem) };
  }
  const mark = target.indexOf("?");
  const path = mark === -1 ? target : target.slice(0, mark);
  const query = mark === -1 ? "" : target.slice(mark + 1);

  const raw = match(path.split("/"), query);
  if (raw === undefined) {
    return { kind: "none", refused: new LimpetError("ROUTE_UNKNOWN", "there is nothing at this path") };
  }
  const verbs = verbsOf(raw.kind);
  if (!verbs.includes(verb)) {
    const allow = verbs.join(", ");
    const refused = new LimpetError("VERB_NOT_ALLOWED", `${verb} is not possible here; use ${allow}`);
    return { kind: raw.kind, refused, allow };
  }
  try {
    return { kind: raw.kind, route: decodeNames(raw) };
  } catch (error) {
    if (error instanceof LimpetError) return { kind: raw.kind, refused: error };
    throw error;
  }
}

/** The route with its names still percent-encoded. `parts[0]` is what stands before the first slash: nothing. */
function match(parts: readonly string[], query: string): Route | undefined {
  const [, version, area, a, b, c, d] = parts;
  if (version === "metrics" && parts.length === 2) return { kind: "metrics" };
  if (version !== "v1.0") return undefined;
  if (area === "actors" && parts.length === 7 && c === "method") return { kind: "call", type: a!, id: b!, method: d! };
  if (area === "healthz" && (parts.length === 3 || (parts.length === 4 && a === "outbound"))) return { kind: "health" };
  if (area === "metadata" && parts.length === 3) return { kind: "metadata" };
  if (area === "inspect" && a === "actors") {
    if (parts.length === 4) return { kind: "list", query };
    if (parts.length === 6) return { kind: "explain", type: b!, id: c! };
  }
  if (area === "inspect" && a === "cluster" && parts.length === 4) return { kind: "cluster" };
  if (area === "inspect" && a === "where" && parts.length === 6) return { kind: "where", type: b!, id: c! };
  if (area === "inspect" && a === "sticky") {
    if (parts.length === 4) return { kind: "sticky", query };
    if (parts.length === 6) return { kind: "holder", type: b!, id: c! };
  }
  if (area === "control" && parts.length === 4 && (a === "drain" || a === "release")) return { kind: a };
  return undefined;
}

function decodeNames(raw: Route): Route {
  if (!("type" in raw)) return raw;
  const type = decode(raw.type, "actor type");
  const id = decode(raw.id, "actor id");
  checkType(type);
  checkId(id);
  if (raw.kind !== "call") return { kind: raw.kind, type, id };
  const method = decode(raw.method, "method");
  checkMethod(method);
  return { kind: raw.kind, type, id, method };
}

export function decode(text: string, what: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new LimpetError("NAME_INVALID", `${what} is not percent-encoded UTF-8`);
  }
}
