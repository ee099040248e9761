// One call over HTTP, at the client. It resolves with the result, or rejects with the error of the actor, the
// host or the transport. A transport error states whether the call can have been executed. The client tries
// the next host only when it certainly was not; it never sends a call twice that may have been executed.
import { callTooLarge } from "../../../kernel/call-size.ts";
import { formatDuration } from "../../../kernel/durations.ts";
import { isLimpetError, LimpetError } from "../../../kernel/errors.ts";
import { LIMITS } from "../../../kernel/limits.ts";
import { deserializeError } from "../../../kernel/serialized-error.ts";
import { decodeValue, encodeValue } from "../../../kernel/values.ts";
import { EXACT_TYPE } from "../../exact.ts";
import { NOT_DELIVERED } from "../answers.ts";
import type { ServerAddress, ServerList } from "./server-list.ts";

export interface HttpCall {
  readonly type: string;
  readonly id: string;
  readonly method: string;
  readonly args: readonly unknown[];
  readonly timeoutMs: number | undefined;
  readonly signal: AbortSignal | undefined;
}

const DELIVERED = "limpet-delivered";
const MAX_TIMER_MS = 2 ** 31 - 1;

export async function callOverHttp(servers: ServerList, call: HttpCall): Promise<unknown> {
  const message = describe(call);
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
    return await tryInOrder(servers, message, timeoutMs, giveUp.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

async function tryInOrder(
  servers: ServerList,
  message: Message,
  timeoutMs: number | undefined,
  giveUp: AbortSignal,
): Promise<unknown> {
  const began = performance.now();
  const order = servers.inOrder(began);
  let refused: Error | undefined;
  for (const server of order) {
    giveUp.throwIfAborted();
    const sentAt = performance.now();
    const leftMs = timeoutMs === undefined ? undefined : Math.max(1, Math.ceil(timeoutMs - (sentAt - began)));
    const attempt = await send(server, message, leftMs, giveUp);
    if (attempt.troubled) servers.failed(server, performance.now());
    else servers.worked(server, sentAt);
    if ("result" in attempt) return attempt.result;
    if (!attempt.elsewhere) throw attempt.error;
    refused = attempt.error;
  }
  throw order.length > 1 && isLimpetError(refused) ? refusedByAll(order.length, refused) : refused;
}

function refusedByAll(count: number, last: LimpetError): LimpetError {
  return new LimpetError(last.code, `none of ${count} hosts accepted the call; the last error: ${last.message}`, {
    cause: last,
  });
}

/**
 * `elsewhere`: the call was certainly not executed, and another host may take it. `troubled`: the next call
 * should prefer another host too.
 */
type Attempt =
  | { readonly troubled: false; readonly result: unknown }
  | { readonly troubled: boolean; readonly elsewhere: boolean; readonly error: Error };

async function send(
  { url, token }: ServerAddress,
  message: Message,
  leftMs: number | undefined,
  signal: AbortSignal,
): Promise<Attempt> {
  const headers: Record<string, string> = { ...message.headers };
  if (token !== undefined) headers.authorization = `Bearer ${token}`;
  if (leftMs !== undefined) headers["limpet-timeout"] = `${leftMs}ms`;
  try {
    // A redirect would send arguments and token to an unintended server.
    const init: RequestInit = { method: "POST", headers, body: message.body, redirect: "manual", signal };
    const response = await fetch(url + message.path, init);
    return readAnswer(response, await response.text(), url);
  } catch (error) {
    // A host that is gone without a close shows only as a timeout. A caller that cancelled gives no
    // information about the host.
    if (signal.aborted) {
      const { reason } = signal as { reason: LimpetError };
      return { troubled: reason.code === "CALL_TIMEOUT", elsewhere: false, error: reason };
    }
    if (!(error instanceof TypeError)) throw error;
    const lost = transportError(error, url);
    return { troubled: true, elsewhere: lost.code === "UNREACHABLE", error: lost };
  }
}

interface Message {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

function describe({ type, id, method, args }: HttpCall): Message {
  const path = `/v1.0/actors/${[type, id, "method", method].map(encodeURIComponent).join("/")}`;
  if (args.length === 0) return { path, headers: { accept: EXACT_TYPE }, body: null };
  const body = `[${args.map((arg, i) => encodeValue(arg, `argument ${i + 1}`)).join(",")}]`;
  // The same limit as for every other call.
  if (body.length * 3 > LIMITS.callBytes && Buffer.byteLength(body) > LIMITS.callBytes) {
    throw callTooLarge("the arguments", "ARGUMENT_INVALID");
  }
  return { path, headers: { accept: EXACT_TYPE, "content-type": EXACT_TYPE }, body };
}

function readAnswer(response: Response, text: string, where: string): Attempt {
  if (response.status === 204) return { troubled: false, result: undefined };
  const type = response.headers.get("content-type");
  if (response.status === 200 && type === EXACT_TYPE) return { troubled: false, result: decodeValue(text) };
  const error = errorIn(response.status, text, where);
  // An invalid request is invalid at every host.
  const hopeless = isLimpetError(error) && error.retry === "never";
  const elsewhere = response.headers.get(DELIVERED) === NOT_DELIVERED[DELIVERED] && !hopeless;
  return { troubled: elsewhere || isLimpetError(error, "ANSWER_LOST"), elsewhere, error };
}

/** `where` names the server, in case a proxy or another program sent the answer. */
function errorIn(status: number, text: string, where: string): Error {
  const message = `the answer of ${where} (status ${status}) is not from Limpet; check for a proxy in front of it`;
  return deserializeError(parseJson(text)) ?? new LimpetError("ANSWER_LOST", message);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Errors before the connection is established; the call cannot have been executed. */
const NEVER_SENT = new Set(
  "ECONNREFUSED ENOTFOUND EAI_AGAIN ENETUNREACH EHOSTUNREACH EADDRNOTAVAIL UND_ERR_CONNECT_TIMEOUT".split(" "),
);
/** fetch gives up after five minutes, with or without our own timeout. */
const TOO_SLOW = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"]);

function transportError(error: TypeError, where: string): LimpetError {
  const cause = error.cause as NodeJS.ErrnoException | undefined;
  const code = cause?.code ?? "";
  const why = code || cause?.message || error.message;
  // A name with several addresses that all fail gives an AggregateError; only connecting tries several.
  const connecting = NEVER_SENT.has(code) || cause?.syscall === "connect" || cause instanceof AggregateError;
  if (connecting) return new LimpetError("UNREACHABLE", `${where} cannot be reached (${why})`, { cause });
  if (TOO_SLOW.has(code)) return new LimpetError("CALL_TIMEOUT", `${where} did not answer in time (${why})`, { cause });
  return new LimpetError("ANSWER_LOST", `the connection to ${where} was lost before the answer (${why})`, { cause });
}
