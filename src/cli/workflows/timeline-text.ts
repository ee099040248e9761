// Formats the history of a workflow as a timeline, one line for each step with its outcome, and its stored
// events. Pure.

import { isoMoment } from "../../kernel/durations.ts";
import type { HistoryStep, WorkflowEvent, WorkflowView } from "../../ports/workflow-admin.ts";
import { type Column, columns, NOTHING } from "../common/columns.ts";
import { formatSpan, plural, when } from "../common/phrases.ts";
import { type Paint, safe } from "../common/terminal.ts";

/** Length of a value or an error in a table. */
const SHOWN = 60;

const TIMELINE: readonly Column[] = [
  { title: "#", align: "right" },
  { title: "AT", align: "right" },
  { title: "TOOK", align: "right" },
  { title: "STEP" },
  { title: "OUTCOME" },
];

export function timelineLines({ steps, earlier, startedAt }: WorkflowView, now: number, paint: Paint): string[] {
  // The first batch was dated before the store wrote it.
  const zero = steps[0]?.kind === "start" ? steps[0].at : startedAt;
  const rows = steps.map((step) => stepRow(step, zero, now, paint));
  const [titles, ...lines] = columns(TIMELINE, rows);
  const before = earlier === 0 ? [] : [`… ${plural(earlier, "earlier step")}; --all shows all of them.`];
  return [paint("dim", titles!), ...before, ...lines];
}

export function stepRow(step: HistoryStep, startedAt: number, now: number, paint: Paint): string[] {
  const { event, at, state, endedAt } = step;
  const isTimed = step.kind !== "start" && step.kind !== "end";
  const took =
    state === "pending" ? `${formatSpan(now - at)}…` : endedAt === undefined ? NOTHING : formatSpan(endedAt - at);
  return [
    String(event),
    `+${formatSpan(Math.max(0, at - startedAt))}`,
    isTimed ? took : NOTHING,
    safe(stepText(step)),
    outcomeText(step, now, paint),
  ];
}

const NAMES: Partial<Record<HistoryStep["kind"], string>> = {
  start: "started",
  sent: "sent",
  note: "noted",
  wait: "waits for",
  cancel: "asked to end",
  child: "child",
};

function stepText({ kind, what, input, due, at }: HistoryStep): string {
  if (kind === "end") return what;
  if (kind === "timer") return `timer of ${due === undefined ? "unknown length" : formatSpan(due - at)}`;
  if (kind === "cancel") return what === "" ? "asked to end" : `asked to end: ${what}`;
  const given = input === undefined || input === "null" ? "" : ` ${short(input)}`;
  return `${NAMES[kind] ?? kind} ${what}${given}`;
}

function outcomeText({ kind, state, result, error, failures, due }: HistoryStep, now: number, paint: Paint): string {
  const tries = failures > 1 ? ` after ${failures} tries` : "";
  switch (state) {
    case "pending": {
      if (failures === 0) return paint("yellow", "pending");
      const next = due === undefined ? "" : `, tried again ${when(due, now)}`;
      const why = error === undefined ? "" : `: ${safe(short(firstLine(error)))}`;
      return paint("yellow", `pending, failed ${failures === 1 ? "once" : `${failures} times`}${next}${why}`);
    }
    case "done":
      if (kind === "timer") return "went off";
      return result === undefined ? "done" : safe(short(result));
    case "failed":
      return paint("red", safe(`failed${tries}: ${short(firstLine(error ?? ""))}`));
    case "cancelled":
      return "cancelled";
    case "left":
      return "abandoned";
    case "told":
      return result === undefined ? "" : safe(short(result));
  }
}

const short = (text: string): string => (text.length <= SHOWN ? text : `${text.slice(0, SHOWN)}…`);
export const firstLine = (text: string): string => text.split("\n")[0]!;

// ——— Stored events.

export const EVENT_SHAPE: readonly Column[] = [
  { title: "#", align: "right" },
  { title: "AT" },
  { title: "EVENT" },
  { title: "FIELDS" },
];

export function eventRow({ number, at, event }: WorkflowEvent): readonly string[] {
  const { kind, ...fields } = event as { kind?: unknown };
  return [String(number), isoMoment(at), safe(String(kind)), safe(JSON.stringify(fields))];
}
