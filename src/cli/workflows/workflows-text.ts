// Formats workflows for display: their counts, one line for each, and one of them in sentences. Formats their
// workers, one line for each. Pure.

import {
  type AwaitedThing,
  MOST_WORKFLOWS_COUNTED,
  type WorkerSummary,
  type WorkflowCounts,
  type WorkflowSummary,
  type WorkflowView,
} from "../../ports/workflow-admin.ts";
import { wordsOf } from "../../workflows/engine/explain-run.ts";
import { isParkedByLosses } from "../../workflows/worker/lost-attempts.ts";
import { type Column, columns, NOTHING } from "../common/columns.ts";
import { ago, formatBytes, formatSpan, moment, plural, shellWord, when } from "../common/phrases.ts";
import { type Paint, safe, type Tint } from "../common/terminal.ts";
import { firstLine, timelineLines } from "./timeline-text.ts";

export function workflowCountsText({ running, blocked }: WorkflowCounts, paint: Paint): string {
  const least = running >= MOST_WORKFLOWS_COUNTED ? "at least " : "";
  const run = `${least}${running} ${running === 1 ? "workflow runs" : "workflows run"}`;
  return blocked === 0 ? `${run}.` : `${run}, ${paint("red", `${blocked} of them blocked`)}.`;
}

// ——— The list.

/** The filter of the list: a filtered field needs no column. */
export interface WorkflowScope {
  readonly type?: string;
  /** The runs of this workflow. */
  readonly id?: string;
}

export const workflowShape = ({ type, id }: WorkflowScope): Column[] => [
  { title: "STARTED" },
  ...(type === undefined ? [{ title: "TYPE" }] : []),
  id === undefined ? { title: "ID" } : { title: "RUN" },
  { title: "STATUS" },
  { title: "TOOK", align: "right" },
  { title: "EVENTS", align: "right" },
  { title: "STATE" },
];

export function workflowRow(
  { type, id }: WorkflowScope,
  one: WorkflowSummary,
  now: number,
  paint: Paint,
): readonly string[] {
  const { startedAt, closedAt, status, events } = one;
  return [
    moment(startedAt, now),
    ...(type === undefined ? [safe(one.type)] : []),
    safe(id === undefined ? one.workflowId : one.runId),
    paint(STATUS_TINTS[status] ?? "dim", status),
    closedAt === undefined ? NOTHING : formatSpan(Math.max(0, closedAt - startedAt)),
    String(events),
    stateText(one, now, paint),
  ];
}

const STATUS_TINTS: Readonly<Record<string, Tint>> = { running: "cyan", completed: "green", failed: "red" };

/** The state of its task. */
export function stateText({ task, blocked }: WorkflowSummary, now: number, paint: Paint): string {
  if (task === undefined) return NOTHING;
  const { state, at, attempt, worker } = task;
  if (state === "leased" && (at === undefined || at > now)) return safe(`worked on by ${worker ?? "a worker"}`);
  if (blocked !== undefined) {
    const next = at !== undefined && at > now ? `, tried again in ${formatSpan(at - now)}` : "";
    return paint("red", `blocked after ${plural(attempt, "try", "tries")}${next}`);
  }
  if (state === "idle") return "waits";
  if (at !== undefined && at > now) return `ready in ${formatSpan(at - now)}`;
  return paint("yellow", `waits for a worker${at === undefined ? "" : `, for ${formatSpan(now - at)}`}`);
}

// ——— One workflow.

export function workflowText(view: WorkflowView, paint: Paint): string {
  const { now } = view;
  return [
    paint("bold", safe(view.summary.endsWith("?") ? view.summary : `${view.summary}.`)),
    ...lifeLines(view),
    ...blockedLines(view, paint),
    ...waitingLines(view, paint),
    ...workerLines(view),
    ...noteLines(view),
    "",
    ...timelineLines(view, now, paint),
  ].join("\n");
}

function lifeLines(view: WorkflowView): string[] {
  const { runId, queue, build, definition, startedAt, closedAt, events, bytes, now, timeoutAt, status } = view;
  const ofBuild = build === undefined ? "" : `, build ${build}`;
  const pinned = definition === undefined ? ofBuild : `${ofBuild}, definition ${definition}`;
  const end = closedAt === undefined ? "" : `; ended ${moment(closedAt, now)}`;
  const lines = [
    safe(`Run ${runId} in queue ${queue}${pinned}.`),
    `Started ${moment(startedAt, now)}${end}. History: ${plural(events, "event")}, ${formatBytes(bytes)}.`,
  ];
  if (view.budget?.isContinueSuggested === true) {
    const { suggested, most } = view.budget;
    const from = `${plural(suggested.events, "event")} or ${formatBytes(suggested.bytes)}`;
    const limit = `${plural(most.events, "event")} or ${formatBytes(most.bytes)}`;
    lines.push(`It should continue as new: its history is longer than ${from}, and may have ${limit}.`);
  }
  if (view.parent !== undefined) lines.push(safe(`Child of ${view.parent.workflowId} (run ${view.parent.runId}).`));
  if (view.continuedFrom !== undefined) lines.push(safe(`It continues run ${view.continuedFrom}.`));
  if (view.continuedAs !== undefined) lines.push(safe(`It continues as run ${view.continuedAs}.`));
  if (timeoutAt !== undefined && status === "running") lines.push(`Its time limit is ${when(timeoutAt, now)}.`);
  return lines;
}

function blockedLines({ blocked, workflowId, budget }: WorkflowView, paint: Paint): string[] {
  if (blocked === undefined) return [];
  // The reason names the command that wakes the run.
  if (isParkedByLosses(blocked)) return [paint("red", safe(`It is ${blocked}`))];
  const now = `To retry it now: limpet workflows ${shellWord(workflowId)} --wake`;
  const [what, who] =
    budget?.isParked === true
      ? ["It is", "allows a longer history"]
      : ["Its code cannot continue:", "has matching code"];
  return [paint("red", safe(`${what} ${blocked}`)), safe(`It continues by itself when a worker ${who}. ${now}`)];
}

function waitingLines({ waitsFor, isCodeAsked, status, blocked, now }: WorkflowView, paint: Paint): string[] {
  const isUnclaimed = waitsFor[0]?.kind === "worker";
  const unknown = status === "running" && !isCodeAsked && blocked === undefined && !isUnclaimed;
  const hint = "Only its code knows signals and conditions; to see them, give a process that runs it with --url.";
  if (waitsFor.length === 0) return unknown ? [hint] : [];
  const rows = waitsFor.map((thing) => `  ${awaitedText(thing, now, paint)}`);
  return ["It waits for", ...rows, ...(unknown ? [hint] : [])];
}

export function awaitedText(thing: AwaitedThing, now: number, paint: Paint): string {
  const { since, due, failures, error, why, isStuck, kind } = thing;
  const parts = [
    since === undefined ? "" : `for ${formatSpan(Math.max(0, now - since))}`,
    due === undefined ? "" : kind === "timer" ? `goes off ${when(due, now)}` : `tried again ${when(due, now)}`,
    failures === 0
      ? ""
      : `failed ${failures === 1 ? "once" : `${failures} times`}${error ? ` (${firstLine(error)})` : ""}`,
    why === undefined || kind === "timer" ? "" : due === undefined ? why : "",
    why !== undefined && kind === "timer" ? why : "",
  ].filter((part) => part !== "");
  const name = kind === "timer" ? "a timer" : wordsOf(thing);
  const text = safe(parts.length === 0 ? name : `${name}: ${parts.join("; ")}`);
  return isStuck ? paint("yellow", text) : text;
}

function workerLines({ task, stickyWorker, stickyUntil, now, status }: WorkflowView): string[] {
  if (status !== "running") return [];
  const lines: string[] = [];
  if (task?.state === "leased" && task.worker !== undefined) {
    const how = task.mode === undefined ? "" : `; ${MODES[task.mode]}`;
    const lease = task.at === undefined ? "" : `, lease until ${when(task.at, now)}`;
    const since = task.claimedAt === undefined ? "" : ` since ${moment(task.claimedAt, now)}`;
    lines.push(safe(`Worker ${task.worker} has its task${since}${lease}${how}.`));
  }
  if (stickyWorker !== undefined && stickyUntil !== undefined) {
    lines.push(
      stickyUntil > now
        ? safe(`In memory of worker ${stickyWorker}, which is preferred until ${when(stickyUntil, now)}.`)
        : safe(
            `Worker ${stickyWorker} had it in memory; it is no longer preferred${stickyUntil === 0 ? "" : `, since ${ago(stickyUntil, now)}`}.`,
          ),
    );
  }
  if (task !== undefined && task.arrived > task.taken) {
    lines.push(
      `${plural(task.arrived - task.taken, "message")} in its inbox ${task.arrived - task.taken === 1 ? "is" : "are"} not in its history yet.`,
    );
  }
  return lines;
}

const MODES = {
  sticky_hit_expected: "the run should be in its memory",
  cold_replay: "replayed from its history",
  forced_cold_replay: "replayed from its history, because the worker with the run in memory did not take it",
} as const;

function noteLines({ attributes, memo, result, error, status }: WorkflowView): string[] {
  const lines: string[] = [];
  if (!isEmpty(attributes)) lines.push(safe(`Attributes: ${JSON.stringify(attributes)}`));
  if (!isEmpty(memo)) lines.push(safe(`Memo: ${JSON.stringify(memo)}`));
  if (status === "completed") lines.push(safe(`Result: ${result === undefined ? "none" : JSON.stringify(result)}`));
  if (error !== undefined) lines.push(safe(`Error: ${error}`));
  return lines;
}

const isEmpty = (value: unknown): boolean =>
  typeof value !== "object" || value === null || Object.keys(value).length === 0;

// ——— The workers.

const WORKERS: readonly Column[] = [
  { title: "WORKER" },
  { title: "QUEUE" },
  { title: "BUILD" },
  { title: "STATE" },
  { title: "SEEN" },
  { title: "IN MEMORY", align: "right" },
  { title: "HITS", align: "right" },
  { title: "MISSES", align: "right" },
  { title: "FORCED", align: "right" },
  { title: "EVICTED", align: "right" },
  { title: "TYPES" },
];

export function workersText(workers: readonly WorkerSummary[], now: number, paint: Paint): string[] {
  const rows = workers.map((one) => [
    safe(one.worker),
    safe(one.queue),
    safe(one.build) || NOTHING,
    !one.isLive ? paint("yellow", "stale") : one.isDraining ? "draining" : "active",
    ago(one.seenAt, now),
    one.isSticky ? `${one.size} of ${one.capacity}` : NOTHING,
    ...[one.hits, one.misses, one.forced, one.evictions].map(String),
    safe(one.types.join(", ")) || NOTHING,
  ]);
  const [titles, ...lines] = columns(WORKERS, rows);
  return [paint("dim", titles!), ...lines];
}
