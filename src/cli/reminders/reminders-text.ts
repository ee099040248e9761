// Formats reminders for display: their counts, one line for each, and hints about stuck ones. Pure.

import { JOB_MARK } from "../../kernel/names.ts";
import { didYouMean } from "../../kernel/nearest.ts";
import {
  type DeadReminderSummary,
  MOST_COUNTED,
  type ReminderName,
  type ReminderSummary,
} from "../../ports/reminder-admin.ts";
import type { ReminderCounts } from "../../ports/store/reminders.ts";
import { type Column, NOTHING } from "../common/columns.ts";
import { formatSpan, plural, shellWord, when } from "../common/phrases.ts";
import { type Paint, safe } from "../common/terminal.ts";

/** A reminder that is overdue for longer than this without a claim is stuck. A claim needs a moment. */
const STUCK_MS = 10_000;
/** Length of an error in a table. */
const SHOWN_ERROR = 100;

/** Timers and queued activities of workflows are reminders too, of types with this prefix. */
const WORKFLOW_MARK = `${JOB_MARK}${JOB_MARK}`;

/** The filter of the list. */
export interface ReminderScope {
  readonly type?: string;
  readonly id?: string;
}

export function countsText({ all, overdue, dead }: ReminderCounts, paint: Paint): string {
  const least = (count: number): string => (count >= MOST_COUNTED ? "at least " : "");
  const parts = [
    `${least(all)}${plural(all, "reminder")}`,
    overdue === 0 ? "" : paint("yellow", `${least(overdue)}${overdue} overdue`),
    dead === 0 ? "" : paint("red", `${least(dead)}${dead} given up`),
  ];
  return `${parts.filter((part) => part !== "").join(", ")}.`;
}

/** A filtered word needs no column. */
function nameColumns({ type, id }: ReminderScope): Column[] {
  return [
    ...(type === undefined ? [{ title: "TYPE" }] : []),
    ...(id === undefined ? [{ title: "ID" }] : []),
    { title: "NAME" },
  ];
}

function nameCells({ type, id }: ReminderScope, reminder: ReminderName): string[] {
  return [
    ...(type === undefined ? [safe(reminder.type)] : []),
    ...(id === undefined ? [safe(reminder.id)] : []),
    safe(reminder.name),
  ];
}

export const reminderShape = (scope: ReminderScope): Column[] => [
  { title: "NEXT" },
  ...nameColumns(scope),
  { title: "SCHEDULE" },
  { title: "TICK", align: "right" },
  { title: "TRIED", align: "right" },
  { title: "STATE" },
];

export function reminderRow(scope: ReminderScope, one: ReminderSummary, now: number, paint: Paint): string[] {
  const { next, schedule, number, attempt, leasedUntil, overdue } = one;
  const isHeld = leasedUntil !== undefined && leasedUntil > now;
  const state = overdue ? paint("yellow", "overdue") : isHeld ? `held for ${formatSpan(leasedUntil - now)}` : NOTHING;
  return [
    when(next, now),
    ...nameCells(scope, one),
    safe(schedule),
    String(number),
    attempt === 0 ? NOTHING : String(attempt),
    state,
  ];
}

export const byNext = (a: ReminderSummary, b: ReminderSummary): number => a.next - b.next;

export const deadShape = (scope: ReminderScope): Column[] => [
  { title: "GIVEN UP" },
  ...nameColumns(scope),
  { title: "SCHEDULE" },
  { title: "TICK", align: "right" },
  { title: "TRIED", align: "right" },
  { title: "ERROR" },
];

export function deadRow(scope: ReminderScope, one: DeadReminderSummary, now: number): string[] {
  const [line = ""] = one.error.split("\n");
  const error = line.length > SHOWN_ERROR ? `${line.slice(0, SHOWN_ERROR)}…` : line;
  const { diedAt, schedule, number, attempt } = one;
  return [when(diedAt, now), ...nameCells(scope, one), safe(schedule), String(number), String(attempt), safe(error)];
}

/** The latest first. */
export const byDeath = (a: DeadReminderSummary, b: DeadReminderSummary): number => b.diedAt - a.diedAt;

export function isStuck({ overdue, next }: ReminderSummary, now: number): boolean {
  return overdue && now - next > STUCK_MS;
}

/** `hosted`: the types of the hosts. One sentence for each type with stuck reminders. */
export function stuckText(stuck: ReadonlyMap<string, number>, hosted: readonly string[]): string[] {
  return [...stuck].map(([type, count]) => {
    const some = `${plural(count, "reminder")} of ${type} ${count === 1 ? "is" : "are"} overdue, and no process has claimed`;
    const them = count === 1 ? "it" : "them";
    if (type.startsWith(WORKFLOW_MARK)) {
      const kind = type.slice(WORKFLOW_MARK.length).replaceAll("/", " ");
      return safe(`${some} ${them}: it is the ${kind} of a workflow. limpet workflows --workers shows the workers.`);
    }
    if (type.startsWith(JOB_MARK)) {
      const job = JSON.stringify(type.slice(JOB_MARK.length));
      return safe(
        `The job ${job} is overdue: no running process calls app.jobs.set(${job}, …), or such processes are behind.`,
      );
    }
    if (hosted.includes(type)) {
      const why = "They may be behind, or deliver no reminders (LIMPET_REMINDERS=false).";
      return safe(`${some} ${them}, although there are hosts of that type. ${why}`);
    }
    const guess = didYouMean(type, hosted, String) || ".";
    const cancel = `limpet reminders ${shellWord(type)} <id> --cancel <name>`;
    return safe(`${some} ${them}: no host has the type ${type}${guess} To cancel one: ${cancel}`);
  });
}
