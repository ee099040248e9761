// How much of this process a control stream gets, and how long it is waited for. Tests shrink these; nobody else changes
// them.
import { LIMITS } from "../../kernel/limits.ts";

export const CONTROL_LIMITS = {
  messageBytes: LIMITS.controlMessageBytes as number,
  viewBytes: LIMITS.clusterViewBytes as number,
  /** Open at a time, of all kinds. */
  streams: LIMITS.controlStreams as number,
  streamsPerConnection: 128,
  /** Messages that wait until the other end reads. */
  queue: LIMITS.controlQueue as number,
  connectMs: LIMITS.clusterConnectMs as number,
  /** For a stream to say its first word, or a request to be complete. */
  firstMessageMs: 5_000,
  /** For an answer to a single question. */
  answerMs: 10_000,
  /** How often each connection is looked at. One that has been silent is asked for a sign of life. */
  tickMs: 1_000,
  /** Looks in a row at which a connection was silent, until it counts as broken. */
  silentTicks: 5,
  /** Looks in a row at which a connection carried no stream, until it is closed. */
  idleTicks: 60,
  /** After the end of a stream, for the other end to take what was sent to it. */
  lingerMs: 1_000,
  headerBytes: 16 * 1024,
};

export type ControlLimits = typeof CONTROL_LIMITS;
