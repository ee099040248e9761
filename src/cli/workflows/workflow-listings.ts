// The views of `limpet workflows`: the list, one workflow, its events, and the workers; and the explanation
// of an empty list.

import { didYouMean } from "../../kernel/nearest.ts";
import type { WorkflowEvent, WorkflowSummary } from "../../ports/workflow-admin.ts";
import { askAdmin } from "../common/admin.ts";
import { type Context, type FlagValues, textFlag } from "../common/command.ts";
import { wrongUsage } from "../common/failure.ts";
import { showListing } from "../common/listing.ts";
import { plural, shellWord } from "../common/phrases.ts";
import type { Target } from "../common/target.ts";
import { safe } from "../common/terminal.ts";
import { EVENT_SHAPE, eventRow } from "./timeline-text.ts";
import { workersText, workflowCountsText, workflowRow, workflowShape, workflowText } from "./workflows-text.ts";

const LIST = "/v1.0/inspect/workflows";

/** `limit`: number of runs. */
export async function showWorkflows(
  context: Context,
  target: Target,
  id: string | undefined,
  limit: number,
): Promise<void> {
  const { terminal, flags, json } = context;
  const filters = readFilters(flags);
  const isOverview = id === undefined && Object.values(filters).every((value) => value === undefined);
  const counts = isOverview ? await askAdmin(target, { kind: "workflowCounts" }) : undefined;
  if (counts !== undefined && !json) terminal.line(terminal.paint("bold", workflowCountsText(counts, terminal.paint)));
  const scope = { type: filters.type, id };
  const listing = {
    path: LIST,
    query: { ...filters, id },
    items: "workflows" as const,
    head: counts,
    shape: workflowShape(scope),
    row: (one: WorkflowSummary, now: number) => workflowRow(scope, one, now, terminal.paint),
  };
  const shown = await showListing(context, target, listing, limit);
  if (json) return;
  if (shown === 0) terminal.errLine(safe(await explainNothing(target, id, filters)));
  if (counts !== undefined && counts.blocked > 0 && flags.blocked !== true) {
    terminal.errLine("limpet workflows --blocked lists the blocked ones; limpet workflows <id> shows why.");
  }
}

const STATUSES = ["running", "completed", "failed", "cancelled", "terminated", "timed out", "continued"];

type Filters = Readonly<Record<"type" | "status" | "queue" | "prefix" | "attributes" | "blocked", string | undefined>>;

function readFilters(flags: FlagValues): Filters {
  const attributes = readAttributes(flags);
  return {
    type: textFlag(flags, "type"),
    status: choice("status", textFlag(flags, "status")?.replaceAll("-", " "), STATUSES),
    queue: textFlag(flags, "queue"),
    prefix: textFlag(flags, "prefix"),
    attributes: attributes === undefined ? undefined : JSON.stringify(attributes),
    blocked: flags.blocked === true ? "true" : undefined,
  };
}

/** Reads one of several words, or nothing. */
export function choice(flag: string, given: string | undefined, known: readonly string[]): string | undefined {
  if (given === undefined || known.includes(given)) return given;
  throw wrongUsage(`--${flag} must be one of ${known.join(", ")}; got ${JSON.stringify(given)}`);
}

/** `customer=alice`, `total=12`, `paid=true`; a text that looks like a number needs quotes: `code="12"`. */
export function readAttributes(flags: FlagValues): Record<string, string | number | boolean> | undefined {
  const given = (flags.attribute ?? []) as readonly string[];
  if (given.length === 0) return undefined;
  return Object.fromEntries(
    given.map((text) => {
      const cut = text.indexOf("=");
      if (cut < 1) throw wrongUsage(`--attribute: ${JSON.stringify(text)} is not name=value`);
      return [text.slice(0, cut), readValue(text.slice(cut + 1))];
    }),
  );
}

function readValue(text: string): string | number | boolean {
  try {
    const value: unknown = JSON.parse(text);
    if (["string", "number", "boolean"].includes(typeof value)) return value as string | number | boolean;
  } catch {
    // A bare word is a text.
  }
  return text;
}

/** An empty list is a valid answer, but it may be a typing error. */
async function explainNothing(target: Target, id: string | undefined, filters: Filters): Promise<string> {
  if (id !== undefined) return `There is no workflow ${id}.`;
  const { type, blocked } = filters;
  if (blocked !== undefined && type === undefined) return "No workflow is blocked.";
  if (type === undefined) {
    const isAll = Object.values(filters).every((value) => value === undefined);
    const recipe = "To start one: limpet workflows --start <type> --input <json>";
    return isAll ? `There are no workflows. ${recipe}` : "No workflow matches.";
  }
  const { workers } = await askAdmin(target, { kind: "workers" });
  const types = [...new Set(workers.filter(({ isLive }) => isLive).flatMap((each) => each.types))];
  if (types.includes(type)) return `No workflow of type ${type} matches.`;
  const guess = didYouMean(type, types, String) || ".";
  return `No workflows, and no worker has the type ${type}${guess} Types: ${types.join(", ") || "none"}.`;
}

/** `limit`: number of history steps. */
export async function showWorkflow(context: Context, target: Target, id: string, limit: number): Promise<void> {
  const { terminal, flags, json } = context;
  const run = { workflowId: id, runId: textFlag(flags, "run") };
  const view = await askAdmin(target, { kind: "workflow", run, steps: Math.min(limit, 100_000) });
  if (json) terminal.json(view);
  else terminal.line(workflowText(view, terminal.paint));
}

export async function showEvents(context: Context, target: Target, id: string, limit: number): Promise<void> {
  const listing = {
    path: `/v1.0/inspect/workflow/${encodeURIComponent(id)}/events`,
    query: { run: textFlag(context.flags, "run") },
    items: "events" as const,
    shape: EVENT_SHAPE,
    row: (event: WorkflowEvent) => eventRow(event),
  };
  await showListing(context, target, listing, limit);
}

export async function showWorkers({ terminal, json }: Context, target: Target): Promise<void> {
  const overview = await askAdmin(target, { kind: "workers" });
  if (json) {
    terminal.json(overview);
    return;
  }
  const { workers, now, unserved } = overview;
  if (workers.length === 0)
    terminal.errLine("There are no workers. A process with workflows is one: limpet({ workflows: [order] })");
  else for (const line of workersText(workers, now, terminal.paint)) terminal.line(line);
  for (const { kind, type, queue, build, definition, count } of unserved) {
    const ofBuild = build === undefined ? "" : ` of build ${build}`;
    const pinned = definition === undefined ? ofBuild : `${ofBuild} with definition ${definition}`;
    const what = kind === "workflow" ? plural(count, "run") : plural(count, "activity", "activities");
    terminal.errLine(
      safe(
        `${what} of ${shellWord(type)} in queue ${queue}${pinned} ${count === 1 ? "waits" : "wait"}, and no worker takes ${count === 1 ? "it" : "them"}.`,
      ),
    );
  }
}
