// Limits of the HTTP server for its clients. Only tests use smaller values.
import { getHeapStatistics } from "node:v8";
import { LIMITS } from "../../kernel/limits.ts";

const MiB = 1024 * 1024;

export const HTTP_LIMITS = {
  bodyBytes: LIMITS.httpBodyBytes as number,
  /** Request line and headers together. */
  headerBytes: LIMITS.httpHeaderBytes as number,
  /** Time until the headers are complete, counted from the first byte or from the connection. */
  headerTimeoutMs: LIMITS.httpHeaderTimeoutMs as number,
  /** Time until headers and body are complete. */
  requestTimeoutMs: 60_000,
  /** Time for a client to read the next chunk of an answer. */
  answerTimeoutMs: 30_000,
  /** A client that reads a large answer more slowly than this is disconnected too. */
  answerBytesPerSecond: 16 * 1024,
  /**
   * A quiet connection stays open longer than the usual minute of load balancers, so that they close it
   * first.
   */
  keepAliveMs: 65_000,
  /** Interval between checks of the timeouts above. */
  checkEveryMs: 1_000,
  connections: 10_000,
  /** Requests in progress on one connection. */
  pipelined: 64,
  /** The values of all bodies of requests in progress, and all answers that clients have not read yet. */
  heldBytes: Math.min(256 * MiB, getHeapStatistics().heap_size_limit / 2),
  /** Answers up to this size are sent regardless of the held bytes. */
  smallAnswerBytes: 4 * 1024,
  /**
   * Bytes that a client may still send after a rejection before the connection closes, so that it can read
   * the answer.
   */
  lingerBytes: 16 * MiB,
  lingerMs: 2_000,
  /**
   * Time for requests in progress when the server closes. A stop of the process waits longer while actors
   * drain.
   */
  drainMs: 5_000,
};

export type HttpLimits = typeof HTTP_LIMITS;
