// Limits of one link: memory, sizes and waiting times. Only tests use smaller values.
import { LIMITS } from "../../kernel/limits.ts";

const KiB = 1024;
const MiB = 1024 * KiB;

export const LINK_LIMITS = {
  /** This many messages are sent immediately, without waiting for the end of the tick. */
  eager: 32,
  frameBytes: LIMITS.linkFrameBytes as number,
  /** A frame of this size is sent, and the rest of a batch follows in the next one. */
  batchBytes: 64 * KiB,
  /** The frame that opens a connection. */
  helloBytes: 4 * KiB,
  /** Time for the peer to send its hello. */
  helloMs: 5_000,
  /** Time to connect, including TLS. */
  connectMs: 2_000,
  /** Pause after a failed attempt to connect; each further failure doubles it. */
  pauseMs: 50,
  longestPauseMs: 2_000,
  /** Interval between checks of a connection. */
  checkMs: 2_000,
  /** Checks without any received byte after which a peer that owes an answer counts as dead. */
  silentChecks: 3,
  /** Checks without traffic after which an idle connection gets a ping. */
  idleChecks: 10,
  /** Calls in progress on one connection. */
  calls: LIMITS.linkCalls as number,
  /** Bytes that may wait for a connection; further calls are rejected. */
  waitingBytes: 64 * MiB,
  /** Answers that may wait for the peer to read; above it the connection stops reading. */
  unsentBytes: 4 * MiB,
  connections: 10_000,
  /** Partly received frames, on all connections of one server. */
  heldBytes: 256 * MiB,
  /** Time for clients to read their last answers and end their connections when a server closes. */
  lingerMs: 2_000,
  /** Time for the calls in progress when a server closes. */
  closeMs: 10_000,
};

export type LinkLimits = typeof LINK_LIMITS;

/** The largest message: it fits into a frame that is almost full. */
export const messageLimit = ({ frameBytes, batchBytes }: LinkLimits): number => frameBytes - batchBytes - 32;
