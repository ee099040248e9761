// The HTTP API for workers in other languages and for clients that steer workflows. It checks versions and
// namespace, calls the handler, and wraps the answer in the envelope of its plane. A rejection has a `reason`
// for programs.

import { isLimpetError, type LimpetError } from "../../kernel/errors.ts";
import { canBeKept } from "../../kernel/names.ts";
import { type Answer, jsonAnswer } from "../../wire/http/answers.ts";
import type { Exchange } from "../../wire/http/exchange.ts";
import type { RemotePlane } from "../plane.ts";
import { invalidField, Refused } from "../refusal.ts";
import type { ApiAnswer, ApiCall } from "./api-call.ts";
import {
  CONTROL_HEADER,
  CONTROL_VERSION,
  NAMESPACE_HEADER,
  PROTOCOL_HEADER,
  PROTOCOL_VERSION,
  serverCapabilities,
  type ToldSettings,
} from "./cluster-info.ts";
import { parseFields } from "./fields.ts";
import { type ApiPlane, type ApiRoute, findApi } from "./routes.ts";

export interface ApiRequest {
  readonly verb: string;
  /** The path behind /api/, still percent-encoded. */
  readonly path: string;
  readonly query: string;
}

export async function handleApi(
  { verb, path, query }: ApiRequest,
  exchange: Exchange,
  plane: RemotePlane,
  host: ApiCall["host"],
): Promise<Answer> {
  let route: ApiRoute | undefined;
  try {
    const found = findApi(verb, path);
    if ("allow" in found) return nothingThere(found.allow, plane.deps);
    route = found.route;
    const minor = checkVersion(route.plane, exchange);
    checkNamespace(exchange, host.namespace);
    const fields = verb === "GET" ? {} : parseFields(await exchange.body());
    const { names } = route;
    const call = { plane, host, names, query: parseQuery(query), fields, minor, gone: exchange.gone };
    return enveloped(route, await route.handler(call), plane.deps);
  } catch (error) {
    // The HTTP server answers and logs internal errors.
    if (!isLimpetError(error) || error.code === "INVARIANT") throw error;
    return enveloped(route, refusal(error), plane.deps);
  }
}

function parseQuery(query: string): URLSearchParams {
  const parameters = new URLSearchParams(query);
  for (const [name, value] of parameters) if (!canBeKept(value)) throw invalidField(name, "must not contain a NUL");
  return parameters;
}

function nothingThere(allow: readonly string[], settings: ToldSettings): Answer {
  if (allow.length === 0)
    return enveloped(undefined, refusalOf(404, "route_not_found", "no route has this path"), settings);
  const answer = enveloped(undefined, refusalOf(405, "method_not_allowed", `use ${allow.join(", ")}`), settings);
  return { ...answer, headers: { ...answer.headers, allow: allow.join(", ") } };
}

/** Returns the minor version of the worker's protocol. */
function checkVersion(plane: ApiPlane, { request: { headers } }: Exchange): number {
  if (plane === "open") return 0;
  if (plane !== "worker") {
    const told = headers[CONTROL_HEADER];
    if (told === CONTROL_VERSION) return 0;
    throw wrongVersion(
      "control_plane_version",
      CONTROL_VERSION,
      told,
      `send header ${CONTROL_HEADER}: ${CONTROL_VERSION}`,
    );
  }
  const told = headers[PROTOCOL_HEADER];
  const [, major, minor] = /^(\d{1,4})\.(\d{1,6})$/.exec(String(told ?? "")) ?? [];
  const [ownMajor, ownMinor] = PROTOCOL_VERSION.split(".").map(Number);
  if (Number(major) === ownMajor && Number(minor) <= ownMinor!) return Number(minor);
  throw wrongVersion(
    "protocol_version",
    PROTOCOL_VERSION,
    told,
    `send header ${PROTOCOL_HEADER}, at most ${PROTOCOL_VERSION}`,
  );
}

function wrongVersion(what: string, own: string, told: string | string[] | undefined, remediation: string): Refused {
  const isMissing = told === undefined || told === "";
  const extras = {
    supported_version: own,
    requested_version: isMissing ? null : String(told).slice(0, 60),
    remediation,
  };
  return new Refused(400, `${isMissing ? "missing" : "unsupported"}_${what}`, remediation, extras);
}

function checkNamespace({ request: { headers } }: Exchange, namespace: string): void {
  const told = headers[NAMESPACE_HEADER];
  if (told === undefined || told === "" || told === namespace) return;
  throw new Refused(404, "namespace_not_found", "this host serves another namespace", {
    namespace: String(told).slice(0, 128),
  });
}

// ——— Answers.

const refusalOf = (status: number, reason: string, message: string, extras: object = {}): ApiAnswer => ({
  status,
  body: { message, reason, error: reason, ...extras },
});

/** Codes with their own reason in this API. */
const REASONS: Readonly<Record<string, readonly [status: number, reason: string]>> = {
  WORKFLOW_UNKNOWN: [404, "instance_not_found"],
  WORKFLOW_CLOSED: [409, "run_not_active"],
  WORKFLOW_EXISTS: [409, "duplicate_not_allowed"],
  WORKFLOW_TYPE_UNKNOWN: [409, "query_worker_unavailable"],
  QUERY_UNKNOWN: [404, "rejected_unknown_query"],
  UPDATE_UNKNOWN: [409, "update_rejected"],
  UPDATE_REJECTED: [422, "update_validator_rejected"],
  NAME_INVALID: [422, "validation_failed"],
  ARGUMENT_INVALID: [422, "validation_failed"],
  BODY_INVALID: [400, "invalid_body"],
  BODY_TOO_LARGE: [413, "payload_too_large"],
};

function refusal(error: LimpetError): ApiAnswer {
  if (error instanceof Refused) return refusalOf(error.status, error.reason, error.message, error.extras);
  const [status, reason] = REASONS[error.code] ?? [error.status, error.code.toLowerCase()];
  return refusalOf(status, reason, error.message, { errorCode: error.code });
}

/** Every answer to a worker lists the capabilities of this system; other answers name the operation. */
function enveloped(route: ApiRoute | undefined, { status, body }: ApiAnswer, settings: ToldSettings): Answer {
  const { plane = "open", operation } = route ?? {};
  const more =
    plane === "worker"
      ? { protocol_version: PROTOCOL_VERSION, server_capabilities: serverCapabilities(settings) }
      : plane === "control"
        ? { control_plane: { operation, version: CONTROL_VERSION } }
        : {};
  const answer = jsonAnswer(status, { ...body, ...more });
  const versions =
    plane === "worker"
      ? { [PROTOCOL_HEADER]: PROTOCOL_VERSION }
      : plane !== "open"
        ? { [CONTROL_HEADER]: CONTROL_VERSION }
        : {};
  return { ...answer, headers: { ...answer.headers, ...versions } };
}
