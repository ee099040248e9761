// One call over HTTP, seen from the client. It resolves with the result, or rejects with the error of the actor, of the
// host, or of the way there; of the last kind it says whether the call can have happened.
import { formatDuration } from "../../kernel/durations.ts";
import { LimpetError } from "../../kernel/errors.ts";
import { decodeValue, encodeValue } from "../../kernel/values.ts";
import { EXACT_TYPE } from "./exact.ts";
import { rebuildError } from "./rebuild-error.ts";

export interface Server {
  /** Without a slash at the end. */
  readonly url: string;
  readonly token: string | undefined;
}

export interface RemoteCall {
  readonly type: string;
  readonly id: string;
  readonly method: string;
  readonly args: readonly unknown[];
  readonly timeoutMs: number | undefined;
  readonly signal: AbortSignal | undefined;
}

const MAX_TIMER_MS = 2 ** 31 - 1;

export async function callOverHttp(server: Server, call: RemoteCall): Promise<unknown> {
  const request = describe(server, call);
  const { timeoutMs, signal } = call;
  const giveUp = new AbortController();
  const label = `${call.type}.${call.method}`;
  const onAbort = () => {
    giveUp.abort(new LimpetError("CALL_CANCELLED", `the caller of ${label} gave up`, { cause: signal?.reason }));
  };
  const onTimeout = () => {
    giveUp.abort(new LimpetError("CALL_TIMEOUT", `${label} took longer than ${formatDuration(timeoutMs!)}`));
  };
  if (signal?.aborted) onAbort();
  signal?.addEventListener("abort", onAbort, { once: true });
  const timer = timeoutMs === undefined ? undefined : setTimeout(onTimeout, Math.min(timeoutMs, MAX_TIMER_MS));
  try {
    giveUp.signal.throwIfAborted();
    const response = await fetch(request.url, { ...request.init, signal: giveUp.signal });
    return readAnswer(response, await response.text(), server.url);
  } catch (error) {
    throw error instanceof TypeError && !giveUp.signal.aborted ? transportError(error, server.url) : error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

function describe({ url, token }: Server, { type, id, method, args, timeoutMs }: RemoteCall) {
  const names = [type, id, "method", method].map(encodeURIComponent).join("/");
  const headers: Record<string, string> = { accept: EXACT_TYPE };
  if (token !== undefined) headers.authorization = `Bearer ${token}`;
  if (timeoutMs !== undefined) headers["limpet-timeout"] = `${timeoutMs}ms`;
  // A redirect would carry arguments and token to where nobody meant them to go.
  const init: RequestInit = { method: "POST", headers, redirect: "manual" };
  if (args.length > 0) {
    headers["content-type"] = EXACT_TYPE;
    init.body = `[${args.map((arg, i) => encodeValue(arg, `argument ${i + 1}`)).join(",")}]`;
  }
  return { url: `${url}/v1.0/actors/${names}`, init };
}

function readAnswer(response: Response, text: string, where: string): unknown {
  if (response.status === 204) return undefined;
  const type = response.headers.get("content-type");
  if (response.status === 200 && type === EXACT_TYPE) return decodeValue(text);
  throw rebuildError(response.status, text, where);
}

/** What fails before a connection stands; nothing can have happened then. */
const NEVER_SENT = new Set(
  "ECONNREFUSED ENOTFOUND EAI_AGAIN ENETUNREACH EHOSTUNREACH EADDRNOTAVAIL UND_ERR_CONNECT_TIMEOUT".split(" "),
);
/** fetch gives up after five minutes, with or without a timeout of ours. */
const TOO_SLOW = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"]);

function transportError(error: TypeError, where: string): LimpetError {
  const cause = error.cause as NodeJS.ErrnoException | undefined;
  const code = cause?.code ?? "";
  const why = code || cause?.message || error.message;
  if (NEVER_SENT.has(code)) return new LimpetError("UNREACHABLE", `${where} cannot be reached (${why})`, { cause });
  if (TOO_SLOW.has(code)) return new LimpetError("CALL_TIMEOUT", `${where} did not answer in time (${why})`, { cause });
  return new LimpetError("ANSWER_LOST", `the connection to ${where} broke before its answer (${why})`, { cause });
}
