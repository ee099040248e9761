// Limits the size of a history. Beyond the suggested size a workflow should continue as new. At the limit its
// run is parked with a reason, and continues where the limit is higher. Pure.
//
// The suggested size is the same everywhere: workflow code sees it, and must see the same at every replay.
// The limit is a setting that no code sees.
import { LimpetError } from "../../kernel/errors.ts";

export const HISTORY_SUGGESTED_EVENTS = 8_000;
export const HISTORY_SUGGESTED_BYTES = 4 * 1024 * 1024;

export interface HistorySize {
  readonly events: number;
  readonly bytes: number;
}

/** The limit of a history. */
export type HistoryLimit = HistorySize;

export const isContinueSuggested = ({ events, bytes }: HistorySize): boolean =>
  events >= HISTORY_SUGGESTED_EVENTS || bytes >= HISTORY_SUGGESTED_BYTES;

export const isBeyond = ({ events, bytes }: HistorySize, limit: HistoryLimit): boolean =>
  events > limit.events || bytes > limit.bytes;

/** The prefix of the reason that the task of a parked run records. */
const PARKED = "parked: its history ";

export const isParked = (problem: string | undefined): boolean => problem?.startsWith(PARKED) === true;

/** Throws WORKFLOW_TOO_LARGE; the step that exceeds the limit is not written. */
export function checkLength({ events, bytes }: HistorySize, limit: HistoryLimit): void {
  if (!isBeyond({ events, bytes }, limit)) return;
  const message = `has ${events} events and ${bytes} bytes, and no room for more; it should continue as new earlier`;
  const raise = `worker.historyEvents (${limit.events}) and worker.historyMegabytes (${limit.bytes / 1024 / 1024}) can be raised`;
  throw new LimpetError("WORKFLOW_TOO_LARGE", `${PARKED}${message}, or ${raise}`);
}
