// Shows the lists of reminders and of dead reminders, and explains an empty list or stuck reminders.

import { JOB_MARK } from "../../kernel/names.ts";
import { didYouMean } from "../../kernel/nearest.ts";
import type { DeadReminderSummary, ReminderSummary } from "../../ports/reminder-admin.ts";
import { askAdmin } from "../common/admin.ts";
import { askJson } from "../common/ask.ts";
import type { Context } from "../common/command.ts";
import { Failure } from "../common/failure.ts";
import { type Listing, showListing } from "../common/listing.ts";
import { REMINDER_RECIPE } from "../common/phrases.ts";
import type { Target } from "../common/target.ts";
import { safe } from "../common/terminal.ts";
import {
  byDeath,
  byNext,
  countsText,
  deadRow,
  deadShape,
  isStuck,
  type ReminderScope,
  reminderRow,
  reminderShape,
  stuckText,
} from "./reminders-text.ts";

const PATH = "/v1.0/inspect/reminders";

export async function showReminders(
  context: Context,
  target: Target,
  scope: ReminderScope,
  limit: number,
): Promise<void> {
  const { terminal, json } = context;
  const isOverview = scope.type === undefined;
  const counts = isOverview ? await askAdmin(target, { kind: "reminderCounts" }) : undefined;
  if (counts !== undefined && !json) terminal.line(terminal.paint("bold", countsText(counts, terminal.paint)));
  const stuck = new Map<string, number>();
  const listing: Listing<ReminderSummary> = {
    path: PATH,
    query: { ...scope },
    items: "reminders",
    head: counts,
    shape: reminderShape(scope),
    row: (one, now) => reminderRow(scope, one, now, terminal.paint),
    order: byNext,
    see(page, now) {
      for (const one of page) if (isStuck(one, now)) stuck.set(one.type, (stuck.get(one.type) ?? 0) + 1);
    },
  };
  const shown = await showListing(context, target, listing, limit);
  if (json) return;
  if (shown === 0) terminal.errLine(safe(await explainNothing(target, scope)));
  if (stuck.size > 0) {
    for (const line of stuckText(stuck, await hostedTypes(target))) terminal.errLine(line);
  }
  if (counts !== undefined && counts.dead > 0) {
    terminal.errLine("limpet reminders --dead shows the dead reminders and their errors.");
  }
}

export async function showDead(context: Context, target: Target, scope: ReminderScope, limit: number): Promise<void> {
  const { terminal, json } = context;
  const listing: Listing<DeadReminderSummary> = {
    path: `${PATH}/dead`,
    query: { ...scope },
    items: "reminders",
    shape: deadShape(scope),
    row: (one, now) => deadRow(scope, one, now),
    order: byDeath,
  };
  const shown = await showListing(context, target, listing, limit);
  if (json) return;
  if (shown === 0) terminal.errLine(safe(`No reminder${ofWhat(scope)} is dead.`));
  else {
    const one = "limpet reminders <type> <id>";
    terminal.errLine(`To retry one: ${one} --retry <name>; to drop it: ${one} --drop <name>`);
  }
}

function ofWhat({ type, id }: ReminderScope): string {
  if (type === undefined) return "";
  return ` of ${id === undefined ? type : `${type}/${id}`}`;
}

/** An empty list is a valid answer, but it may be a typing error. */
async function explainNothing(target: Target, scope: ReminderScope): Promise<string> {
  const { type } = scope;
  if (type !== undefined && !type.startsWith(JOB_MARK)) {
    const hosted = await hostedTypes(target);
    if (!hosted.includes(type)) {
      const guess = didYouMean(type, hosted, String) || ".";
      return `No reminders, and no host has the type ${type}${guess} Types: ${hosted.join(", ") || "none"}.`;
    }
  }
  return `No reminder${ofWhat(scope)} is set. An actor sets one in a turn: ${REMINDER_RECIPE}`;
}

/** The types of the hosts in the namespace of the process; its own types without a cluster. */
async function hostedTypes(target: Target): Promise<string[]> {
  const about = askJson<{ actors?: { type: string }[]; extended?: { namespace?: string } }>(target, {
    verb: "GET",
    path: "/v1.0/metadata",
  });
  const { actors = [], extended } = await about;
  const own = actors.map(({ type }) => type);
  try {
    const { tables } = await askAdmin(target, { kind: "cluster" });
    const theirs = tables.filter(({ namespace, hosts }) => namespace === extended?.namespace && hosts.length > 0);
    return [...new Set([...own, ...theirs.map(({ type }) => type)])];
  } catch (error) {
    if (error instanceof Failure && error.errorCode === "NOT_READY") return own;
    throw error;
  }
}
