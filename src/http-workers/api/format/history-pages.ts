// Splits histories into pages. A page token is the number of the last event before the page. Pure.

import type { RunState } from "../../../workflows/history/run-state.ts";
import { Refused } from "../../refusal.ts";
import { HISTORY_PAGE, MOST_HISTORY_PAGE } from "../cluster-info.ts";
import { type Fields, optionalWhole, text } from "../fields.ts";
import { encodeHistory } from "./history-events.ts";

export const requestedPageSize = (fields: Fields): number | undefined =>
  optionalWhole(fields, "history_page_size", 1, MOST_HISTORY_PAGE);
export const pageSizeOf = (fields: Fields): number => requestedPageSize(fields) ?? HISTORY_PAGE;

/** Events after the given one, their range, and the token of the next page. */
export function encodePage(run: RunState, after: number, last: number, size: number): Record<string, unknown> {
  const events = encodeHistory(run, after, last, size);
  const end = after + events.length;
  return {
    first_history_sequence: after + 1,
    last_history_sequence: last,
    history_events: events,
    next_history_page_token: end >= last ? null : Buffer.from(String(end)).toString("base64"),
  };
}

export function readToken(fields: Fields): number {
  const token = Buffer.from(text(fields, "next_history_page_token"), "base64").toString();
  if (!/^\d{1,15}$/.test(token))
    throw new Refused(400, "invalid_page_token", "the token does not belong to this history");
  return Number(token);
}
