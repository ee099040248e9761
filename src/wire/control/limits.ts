// Limits of the control streams: sizes, numbers and waiting times. Only tests use smaller values.
import { LIMITS } from "../../kernel/limits.ts";

export const CONTROL_LIMITS = {
  messageBytes: LIMITS.controlMessageBytes as number,
  viewBytes: LIMITS.clusterViewBytes as number,
  /** Open streams of all kinds. */
  streams: LIMITS.controlStreams as number,
  streamsPerConnection: 128,
  /** Messages that wait for the peer to read. */
  queue: LIMITS.controlQueue as number,
  connectMs: LIMITS.clusterConnectMs as number,
  /** Time for the first message of a stream, or for a request to be complete. */
  firstMessageMs: 5_000,
  /** Time for the answer to a single request. */
  answerMs: 10_000,
  /** Interval between checks of a connection. A silent connection gets a ping. */
  tickMs: 1_000,
  /** Consecutive checks without received bytes after which a connection counts as broken. */
  silentTicks: 5,
  /** Consecutive checks without a stream after which a connection is closed. */
  idleTicks: 60,
  /** Time after the end of a stream for the peer to read the last messages. */
  lingerMs: 1_000,
  headerBytes: 16 * 1024,
};

export type ControlLimits = typeof CONTROL_LIMITS;
