// Requests to the workflow API, as its handlers see them, and the entries of its route tables.
import { isoMoment } from "../../kernel/durations.ts";
import type { HttpRoute, PathNames } from "../../wire/http/route.ts";
import type { HttpWorkerService, Poll } from "../service.ts";
import { LONG_POLL_SECONDS, MOST_POLL_SECONDS } from "./cluster-info.ts";
import { type Fields, optionalText, optionalWhole, text } from "./fields.ts";

export interface ApiCall<N = unknown> {
  readonly service: HttpWorkerService;
  /** Identity of the host. */
  readonly host: { readonly incarnation: string; readonly version: string; readonly namespace: string };
  /** The parameters of the path. */
  readonly names: N;
  readonly query: URLSearchParams;
  readonly fields: Fields;
  /** The minor version of the worker's protocol. */
  readonly minor: number;
  /** Aborted when the client no longer waits for the answer. */
  readonly gone: AbortSignal;
}

/** A request about a task. */
export type TaskCall = ApiCall<PathNames<"task">>;

/** A workflow, and one of its runs. */
export interface RunNames {
  readonly id: string;
  readonly run?: string;
}

export interface ApiAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export const okAnswer = (body: Readonly<Record<string, unknown>>): ApiAnswer => ({ status: 200, body });
export const createdAnswer = (body: Readonly<Record<string, unknown>>): ApiAnswer => ({ status: 201, body });

export const isoTime = (ms: number | undefined): string | null => (ms === undefined ? null : isoMoment(ms));

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

/** Common fields of all polls: the worker, its queue and the time limit. */
export function parsePoll({ fields, gone }: ApiCall): Poll {
  const seconds = optionalWhole(fields, "timeout_seconds", 0, MOST_POLL_SECONDS) ?? LONG_POLL_SECONDS;
  return {
    workerId: text(fields, "worker_id"),
    queue: text(fields, "task_queue"),
    build: optionalText(fields, "build_id"),
    requestId: optionalText(fields, "poll_request_id"),
    waitMs: seconds * 1_000,
    gone,
  };
}
