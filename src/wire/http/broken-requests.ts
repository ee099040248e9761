// Answers bytes that are not a valid request: garbage, endless headers, bodies that contradict their headers,
// silence. An answer is sent when it cannot be taken for the answer to another request. The connection closes
// in any case.
import type { Socket } from "node:net";
import { LimpetError } from "../../kernel/errors.ts";
import { errorAnswer, type HttpAnswer, rawAnswer } from "./answers.ts";
import type { HttpExchange } from "./exchange.ts";

export function describeBroken(code: string | undefined, headerBytes: number): LimpetError {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return new LimpetError("HEADERS_TOO_LARGE", `request line and headers exceed ${headerBytes} bytes`);
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new LimpetError("REQUEST_TIMEOUT", "the request did not arrive in time");
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return new LimpetError("BODY_TOO_LARGE", "the chunk extensions of the body are too large");
    default:
      return new LimpetError("REQUEST_INVALID", `this is not HTTP/1.1${code === undefined ? "" : ` (${code})`}`);
  }
}

/** Returns the answer that was sent, if any. */
export function refuseBroken(
  error: NodeJS.ErrnoException,
  socket: Socket,
  inProgress: readonly HttpExchange[],
  limits: { readonly headerBytes: number; readonly lingerMs: number },
): HttpAnswer | undefined {
  // The final answer is sent already, and further bytes are discarded.
  if (socket.writableEnded) return undefined;
  const [first, ...more] = inProgress;
  // An answer now would be taken for the answer to an earlier request, unless that request is the broken one.
  const clear = first === undefined || (more.length === 0 && !first.request.complete && !first.answered);
  if (!clear || !socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
    return undefined;
  }
  if (first !== undefined) first.answered = true;
  const answer = errorAnswer(describeBroken(error.code, limits.headerBytes));
  answerAndClose(socket, answer, limits.lingerMs);
  return answer;
}

/** Answers on the bare socket and closes it, with time for the client to read. */
export function answerAndClose(socket: Socket, answer: HttpAnswer, lingerMs: number): void {
  socket.end(rawAnswer(answer));
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
}
