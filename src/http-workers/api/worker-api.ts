// The HTTP API for workers in other languages and for clients that steer workflows. It checks versions and
// namespace, calls the handler, and wraps the answer in the envelope of its service. A rejection has a
// `reason` for programs.
import { isLimpetError, LimpetError } from "../../kernel/errors.ts";
import { canBeKept } from "../../kernel/names.ts";
import { errorAnswer, type HttpAnswer, jsonAnswer } from "../../wire/http/answers.ts";
import type { HttpExchange } from "../../wire/http/exchange.ts";
import { decodePercent, type PathNames, type RouteGroup, VERBS } from "../../wire/http/route.ts";
import { invalidField, Refused } from "../refusal.ts";
import type { HttpWorkerService } from "../service.ts";
import { type ApiAnswer, type ApiCall, type ApiProtocol, type ApiRoute, LABEL } from "./api-call.ts";
import {
  type AnnouncedSettings,
  CONTROL_HEADER,
  CONTROL_VERSION,
  NAMESPACE_HEADER,
  PROTOCOL_HEADER,
  PROTOCOL_VERSION,
  serverCapabilities,
} from "./cluster-info.ts";
import { CONTROL_ROUTES } from "./control-routes.ts";
import { parseFields } from "./fields.ts";
import { WORKER_ROUTES } from "./worker-routes.ts";

const LONGEST_NAME = 4_096;

/** All routes below `/api/`, except for the health probes of the host. */
export const workerApi = (service: HttpWorkerService, host: () => ApiCall["host"]): RouteGroup<ApiRoute> => ({
  prefix: "/api/",
  label: LABEL,
  routes: [...WORKER_ROUTES, ...CONTROL_ROUTES],
  readName,
  handle: (route, names, query, exchange) => handleApi(route, names, query, exchange, service, host()),
  refuse: (problem, verb, allow) => refuse(problem, verb, allow, service.deps),
});

function readName(encoded: string, _parameter: string, { protocol }: ApiRoute): string {
  const name = decodePercent(encoded, "a name in the path");
  if (name === "" || name.length > LONGEST_NAME) {
    throw new LimpetError("NAME_INVALID", "a name in the path is empty or too long");
  }
  // Workers name their tasks; an invalid name is an unknown task.
  if (protocol === "control" && !canBeKept(name)) {
    throw new LimpetError("NAME_INVALID", "a name in the path must not contain a NUL");
  }
  return name;
}

async function handleApi(
  route: ApiRoute,
  names: PathNames,
  query: string,
  exchange: HttpExchange,
  service: HttpWorkerService,
  host: ApiCall["host"],
): Promise<HttpAnswer> {
  try {
    const minor = checkVersion(route.protocol, exchange);
    checkNamespace(exchange, host.namespace);
    const fields = route.limits.bodyBytes === 0 ? {} : parseFields(await exchange.body());
    const call = { service, host, names, query: parseQuery(query), fields, minor, gone: exchange.gone };
    return enveloped(route, await route.handler(call), service.deps);
  } catch (error) {
    // The HTTP server answers and logs internal errors.
    if (!isLimpetError(error) || error.code === "INVARIANT") throw error;
    return enveloped(route, refusal(error), service.deps);
  }
}

function parseQuery(query: string): URLSearchParams {
  const parameters = new URLSearchParams(query);
  for (const [name, value] of parameters) if (!canBeKept(value)) throw invalidField(name, "must not contain a NUL");
  return parameters;
}

/** Clients of the API read a `reason`; tools that send other verbs read the errors of the host. */
function refuse(
  problem: LimpetError,
  verb: string,
  allow: string | undefined,
  settings: AnnouncedSettings,
): HttpAnswer {
  if (!VERBS.some((each) => each === verb)) {
    const all = VERBS.join(", ");
    return errorAnswer(new LimpetError("VERB_NOT_ALLOWED", `${verb} is not possible here; use ${all}`), { allow: all });
  }
  if (problem.code === "ROUTE_UNKNOWN") {
    return enveloped(undefined, refusalOf(404, "route_not_found", problem.message), settings);
  }
  if (allow === undefined) return enveloped(undefined, refusal(problem), settings);
  const answer = enveloped(undefined, refusalOf(405, "method_not_allowed", `use ${allow}`), settings);
  return { ...answer, headers: { ...answer.headers, allow } };
}

/** Returns the minor version of the worker's protocol. */
function checkVersion(protocol: ApiProtocol, { request: { headers } }: HttpExchange): number {
  if (protocol === "open") return 0;
  if (protocol !== "worker") {
    const requested = headers[CONTROL_HEADER];
    if (requested === CONTROL_VERSION) return 0;
    throw wrongVersion(
      "control_plane_version",
      CONTROL_VERSION,
      requested,
      `send header ${CONTROL_HEADER}: ${CONTROL_VERSION}`,
    );
  }
  const requested = headers[PROTOCOL_HEADER];
  const [, major, minor] = /^(\d{1,4})\.(\d{1,6})$/.exec(String(requested ?? "")) ?? [];
  const [ownMajor, ownMinor] = PROTOCOL_VERSION.split(".").map(Number);
  if (Number(major) === ownMajor && Number(minor) <= ownMinor!) return Number(minor);
  throw wrongVersion(
    "protocol_version",
    PROTOCOL_VERSION,
    requested,
    `send header ${PROTOCOL_HEADER}, at most ${PROTOCOL_VERSION}`,
  );
}

function wrongVersion(
  what: string,
  own: string,
  requested: string | string[] | undefined,
  remediation: string,
): Refused {
  const isMissing = requested === undefined || requested === "";
  const extras = {
    supported_version: own,
    requested_version: isMissing ? null : String(requested).slice(0, 60),
    remediation,
  };
  return new Refused(400, `${isMissing ? "missing" : "unsupported"}_${what}`, remediation, extras);
}

function checkNamespace({ request: { headers } }: HttpExchange, namespace: string): void {
  const requested = headers[NAMESPACE_HEADER];
  if (requested === undefined || requested === "" || requested === namespace) return;
  throw new Refused(404, "namespace_not_found", "this host serves another namespace", {
    namespace: String(requested).slice(0, 128),
  });
}

// ——— Answers.

const refusalOf = (status: number, reason: string, message: string, extras: object = {}): ApiAnswer => ({
  status,
  body: { message, reason, error: reason, ...extras },
});

/** Codes with their own status and reason in this API. */
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
function enveloped(route: ApiRoute | undefined, { status, body }: ApiAnswer, settings: AnnouncedSettings): HttpAnswer {
  const { protocol = "open", operation } = route ?? {};
  const more =
    protocol === "worker"
      ? { protocol_version: PROTOCOL_VERSION, server_capabilities: serverCapabilities(settings) }
      : protocol === "control"
        ? { control_plane: { operation, version: CONTROL_VERSION } }
        : {};
  const answer = jsonAnswer(status, { ...body, ...more });
  const versions: Record<string, string> =
    protocol === "worker"
      ? { [PROTOCOL_HEADER]: PROTOCOL_VERSION }
      : protocol !== "open"
        ? { [CONTROL_HEADER]: CONTROL_VERSION }
        : {};
  return { ...answer, headers: { ...answer.headers, ...versions } };
}
