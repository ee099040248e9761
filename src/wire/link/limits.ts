// How much of this process a link may use, and how long it waits. Tests shrink these; nobody else changes them.
import { LIMITS } from "../../kernel/limits.ts";

const KiB = 1024;
const MiB = 1024 * KiB;

export const LINK_LIMITS = {
  /** So many messages are sent at once, without waiting for the end of the tick. */
  eager: 32,
  frameBytes: LIMITS.linkFrameBytes as number,
  /** A frame that is this full is sent, and the rest of a batch follows in the next one. */
  batchBytes: 64 * KiB,
  /** The frame that opens a connection. */
  helloBytes: 4 * KiB,
  /** For the other side to introduce itself. */
  helloMs: 5_000,
  /** Until a connection stands, TLS included. */
  connectMs: 2_000,
  /** After a failed attempt to connect; each further failure doubles it. */
  pauseMs: 50,
  longestPauseMs: 2_000,
  /** How often a connection is looked at. */
  checkMs: 2_000,
  /** Checks without a sign of life after which a peer that owes one is given up. */
  silentChecks: 3,
  /** Checks of quiet after which an idle connection is tried. */
  idleChecks: 10,
  /** Calls under way on one connection. */
  calls: LIMITS.linkCalls as number,
  /** What may wait for a connection to take it, beyond which calls are turned away. */
  waitingBytes: 64 * MiB,
  /** Answers that wait for the other side to take them, beyond which nothing more is read from it. */
  unsentBytes: 4 * MiB,
  connections: 10_000,
  /** Frames that have arrived in part, on all connections of one door. */
  heldBytes: 256 * MiB,
  /** When a door closes: for clients to take their last answers and end their connections. */
  lingerMs: 2_000,
  /** When a door closes: for the calls under way. */
  closeMs: 10_000,
};

export type LinkLimits = typeof LINK_LIMITS;

/** The largest message, so that a frame that is just not full can take it. */
export const messageLimit = ({ frameBytes, batchBytes }: LinkLimits): number => frameBytes - batchBytes - 32;
