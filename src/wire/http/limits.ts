// How much of this process the HTTP door gives to strangers. Tests shrink these; nobody else changes them.
import { getHeapStatistics } from "node:v8";
import { LIMITS } from "../../kernel/limits.ts";

const MiB = 1024 * 1024;

export const HTTP_LIMITS = {
  bodyBytes: LIMITS.httpBodyBytes as number,
  /** Request line and headers together. */
  headerBytes: LIMITS.httpHeaderBytes as number,
  /** Until the headers are complete, counted from the first byte, or from connecting. */
  headerTimeoutMs: LIMITS.httpHeaderTimeoutMs as number,
  /** Until headers and body are complete. */
  requestTimeoutMs: 60_000,
  /** For a client to take the next piece of an answer. */
  answerTimeoutMs: 30_000,
  /** A client that reads a large answer more slowly than this is disconnected too. */
  answerBytesPerSecond: 16 * 1024,
  /** A quiet connection stays open longer than the usual minute of load balancers, so that they close it, not we. */
  keepAliveMs: 65_000,
  /** How often the timeouts above are looked at. */
  checkEveryMs: 1_000,
  connections: 10_000,
  /** Requests under way on one connection. */
  pipelined: 64,
  /** The values of all bodies of requests in progress, and all answers that clients have not read yet. */
  heldBytes: Math.min(256 * MiB, getHeapStatistics().heap_size_limit / 2),
  /** Answers up to this size are sent however much is held. */
  smallAnswerBytes: 4 * 1024,
  /** After a refusal, what a client may still send before the connection closes, so that it can read the answer. */
  lingerBytes: 16 * MiB,
  lingerMs: 2_000,
  /** For requests in progress when the server closes. A stop of the process waits longer while actors drain. */
  drainMs: 5_000,
};

export type HttpLimits = typeof HTTP_LIMITS;
