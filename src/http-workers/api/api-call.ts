// One request to the workflow API, as its handlers see it.

import { isoMoment } from "../../kernel/end-of-time.ts";
import type { RemotePlane } from "../plane.ts";
import type { Fields } from "./fields.ts";

export interface ApiCall {
  readonly plane: RemotePlane;
  /** Identity of the host. */
  readonly host: { readonly incarnation: string; readonly version: string; readonly namespace: string };
  /** The variable parts of the path, in order. */
  readonly names: readonly string[];
  readonly query: URLSearchParams;
  readonly fields: Fields;
  /** The minor version of the worker's protocol. */
  readonly minor: number;
  /** Aborted when the client no longer waits for the answer. */
  readonly gone: AbortSignal;
}

export interface ApiAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export type ApiHandler = (call: ApiCall) => Promise<ApiAnswer> | ApiAnswer;

export const ok = (body: Readonly<Record<string, unknown>>): ApiAnswer => ({ status: 200, body });
export const created = (body: Readonly<Record<string, unknown>>): ApiAnswer => ({ status: 201, body });

export const isoTime = (ms: number | undefined): string | null => (ms === undefined ? null : isoMoment(ms));
