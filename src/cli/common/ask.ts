// Sends one request to a running process, and turns its failure into a message. Uses node:http rather than
// fetch: it starts faster, allows every port, and has no timeout of its own.

import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { formatDuration } from "../../kernel/durations.ts";
import { CATALOGUE, type ErrorCode } from "../../kernel/errors.ts";
import { Failure } from "./failure.ts";
import { SHARDED_RECIPE, STICKY_RECIPE } from "./phrases.ts";
import { shownUrl, type Target } from "./target.ts";

export interface HttpQuestion {
  readonly verb: "GET" | "POST" | "DELETE";
  /** Names are encoded already. */
  readonly path: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const ANSWER_BYTES = 256 * 1024 * 1024;
/** Extra time beyond the caller's timeout, so that the more precise answer of the process arrives. */
const GRACE_MS = 1_000;

/** Returns the text of a successful answer; everything else is a Failure. */
export async function ask(target: Target, question: HttpQuestion): Promise<string> {
  const { status, text } = await exchange(target, question);
  if (status >= 200 && status < 300) return text;
  throw refusal(target, status, text);
}

export async function askJson<T>(target: Target, question: HttpQuestion): Promise<T> {
  return parseAnswer(target, await ask(target, question)) as T;
}

export function parseAnswer(target: Target, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw stranger(target);
  }
}

function exchange(target: Target, question: HttpQuestion): Promise<{ status: number; text: string }> {
  const { url, token, timeoutMs } = target;
  const path = url.pathname.replace(/\/$/, "") + question.path;
  const headers: Record<string, string> = { accept: "application/json", ...question.headers };
  if (token !== undefined) headers.authorization = `Bearer ${token}`;
  if (question.body !== undefined) {
    headers["content-type"] = "application/json";
    headers["content-length"] = String(Buffer.byteLength(question.body));
  }
  return new Promise((resolve, reject) => {
    const send = url.protocol === "https:" ? httpsRequest : httpRequest;
    const signal = AbortSignal.timeout(Math.min(timeoutMs + GRACE_MS, 2 ** 31 - 1));
    const fail = (error: Error) => reject(signal.aborted ? tooLate(target) : unreachable(target, error));
    const outgoing = send({
      protocol: url.protocol,
      hostname: url.hostname.replace(/^\[|\]$/g, ""),
      port: url.port,
      method: question.verb,
      path,
      headers,
      signal,
      agent: false,
    });
    outgoing.on("error", fail);
    outgoing.on("response", (incoming) => {
      readText(incoming).then((text) => resolve({ status: incoming.statusCode ?? 0, text }), fail);
    });
    outgoing.end(question.body);
  });
}

async function readText(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > ANSWER_BYTES) throw new Failure("BODY_TOO_LARGE", `the answer is larger than ${ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function unreachable(target: Target, error: Error): Failure {
  if (error instanceof Failure) return error;
  const where = shownUrl(target.url);
  const code = (error as NodeJS.ErrnoException).code ?? error.name;
  if (code === "ECONNREFUSED") {
    return new Failure("UNREACHABLE", `no process listens at ${where}`, {
      hint: "Start it with: limpet dev app.ts\nIf it runs at another address, set it with --url or LIMPET_URL.",
      cause: error,
    });
  }
  const why =
    code === "ENOTFOUND" || code === "EAI_AGAIN"
      ? "its name cannot be found"
      : code === "ECONNRESET"
        ? "the connection was cut"
        : String(code);
  const hint = "Check the address you gave with --url or LIMPET_URL.";
  return new Failure("UNREACHABLE", `${where} cannot be reached: ${why}`, { hint, cause: error });
}

function tooLate(target: Target): Failure {
  const message = `${shownUrl(target.url)} did not answer within ${formatDuration(target.timeoutMs)}`;
  return new Failure("CALL_TIMEOUT", message, { hint: "It may still be running. Wait longer with --timeout 5m." });
}

function stranger(target: Target): Failure {
  return new Failure("UNREACHABLE", `the program at ${shownUrl(target.url)} is not limpet`, {
    hint: "Set the address of limpet with --url or LIMPET_URL; limpet doctor checks the port.",
  });
}

/** Passes on the error of the process and adds a hint. */
function refusal(target: Target, status: number, text: string): Failure {
  let answer: { errorCode?: unknown; message?: unknown; error?: { name?: unknown } };
  try {
    answer = JSON.parse(text) ?? {};
  } catch {
    return stranger(target);
  }
  const { errorCode, message } = answer;
  if (typeof errorCode !== "string" || typeof message !== "string") return stranger(target);
  const name = answer.error?.name;
  const shown = typeof name === "string" ? `${name}: ${message}` : message;
  const code = (errorCode in CATALOGUE ? errorCode : "ACTOR_FAILED") as ErrorCode;
  return new Failure(code, shown || `the process answered with status ${status}`, {
    errorCode,
    hint: hintFor(errorCode, target),
  });
}

function hintFor(errorCode: string, { token }: Target): string | undefined {
  switch (errorCode) {
    case "UNAUTHENTICATED":
      return token === undefined
        ? "This process requires a token: set LIMPET_TOKEN, or give --token."
        : "The process does not accept this token.";
    case "ACTOR_TYPE_UNKNOWN":
    case "REMINDER_NOT_HOSTED":
      return "limpet actors shows the types that exist. Upper and lower case count.";
    case "CALL_TIMEOUT":
      return "The turn may still be running. limpet explain <type> <id> shows what it waits for.";
    case "MAILBOX_FULL":
    case "HOST_FULL":
    case "STORE_UNAVAILABLE":
      return "Nothing happened; try again in a moment.";
    case "NOT_READY":
      return "Nothing happened. It may be starting, or no scheduler leads; try again in a moment.";
    case "NO_HOST":
      return "Nothing happened. limpet ps shows the hosts and their types; upper and lower case count. If one is starting, try again.";
    case "METHOD_ELSEWHERE":
      return "Nothing happened. Hosts run different versions of the code; limpet ps shows them. Try again when the rollout is done.";
    case "LEASE_LOST":
    case "NOT_SETTLED":
    case "LINK_FULL":
      return "Nothing happened; try again in a moment. limpet ps shows the hosts.";
    case "HOST_UNKNOWN":
      return "limpet ps shows the hosts, with address and name.";
    case "OWNER_AWAY":
      return "Nothing happened. limpet sticky <type> <id> shows the host it waits for; --release lets the next call place it again.";
    case "NOT_STICKY":
      return `limpet sticky shows the sticky types. To make a type sticky, add to its class: ${STICKY_RECIPE}`;
    case "NOT_SHARDED":
      return `limpet shards shows the sharded types. To shard a type, add to its class: ${SHARDED_RECIPE}. A host must have its role.`;
    case "REMINDER_UNKNOWN":
      return "limpet reminders shows the reminders that are set; limpet reminders --dead shows the dead ones.";
    case "WORKFLOW_UNKNOWN":
      return "limpet workflows lists the workflows; --prefix filters by the beginning of the id.";
    case "WORKFLOW_CLOSED":
      return "Nothing happened. limpet workflows <id> shows how it ended.";
    case "WORKFLOW_EXISTS":
      return "Give another id, or --if-running existing or terminate, or --if-ended start.";
    case "WORKFLOW_TYPE_UNKNOWN":
      return "Give a process that runs workflows of that type with --url; limpet workflows --workers shows the types.";
    case "FENCED":
      return "Nothing happened; try again.";
    default:
      return undefined;
  }
}
