// Do workflows go on, and does keeping them in memory pay? Asks the process that runs here, which knows what the store and the workers
// say; where none runs there is nothing to find out.

import type { Settings } from "../../config/options.ts";
import { formatDuration } from "../../kernel/durations.ts";
import { didYouMean } from "../../kernel/nearest.ts";
import type { Unserved, WorkerOverview, WorkerSummary } from "../../ports/workflow-admin.ts";
import { askJson } from "../ask.ts";
import { Failure } from "../failure.ts";
import { formatSpan, plural, sentenceList } from "../phrases.ts";
import { safe } from "../terminal.ts";
import { WORKERS } from "../workflow-listings.ts";
import { type Check, ok, warn } from "./check.ts";
import { targetOf } from "./port-check.ts";

/** Fewer tasks than these say nothing. */
const ENOUGH_TASKS = 20;
/** Of the tasks whose run some worker had in memory, so many should find it there. */
const GOOD_RATE = 0.8;
const BAD_RATE = 0.5;
/** A worker whose memory is so full will soon have to let runs go. */
const PRESSURE = 0.9;

export async function checkWorkflows(settings: Settings): Promise<Check[]> {
  if (settings.httpPort === 0) return [];
  try {
    return workflowChecks(await askJson<WorkerOverview>(targetOf(settings), { verb: "GET", path: WORKERS }));
  } catch (error) {
    // Nobody is there, or it is somebody else: what is to be said about that the check of the port says.
    if (error instanceof Failure) return [];
    throw error;
  }
}

export function workflowChecks(overview: WorkerOverview): Check[] {
  const { workers, running, blocked, unserved } = overview;
  if (workers.length === 0 && running === 0 && unserved.length === 0) return [];
  const trouble = [...blockedChecks(overview), ...unserved.map((one) => unservedCheck(one, overview))];
  const live = workers.filter(({ isLive }) => isLive);
  const state = `${running} running on ${plural(live.length, "worker")}${blocked === 0 ? "" : `, ${blocked} blocked`}`;
  return [
    ...(trouble.length === 0 ? [ok("Workflows", state)] : trouble),
    ...staleChecks(workers),
    ...stickyChecks(overview, live),
    ...pressureChecks(live),
  ];
}

function blockedChecks({ blocked }: WorkerOverview): Check[] {
  if (blocked === 0) return [];
  const message = `${plural(blocked, "workflow")} ${blocked === 1 ? "is" : "are"} blocked: the code could not go on`;
  return [warn("Workflows", message, "limpet workflows --blocked shows them, limpet workflows <id> says why.")];
}

/** Runs of a type, or activities of a name, that nobody has. */
function unservedCheck(unserved: Unserved, { workers, now }: WorkerOverview): Check {
  const { kind, type, queue, build, definition, count, since } = unserved;
  const live = workers.filter(({ isLive, isDraining }) => isLive && !isDraining);
  const what = kind === "workflow" ? plural(count, "run") : plural(count, "activity", "activities");
  const wait = `${count === 1 ? "waits" : "wait"} for a worker, the oldest for ${formatSpan(now - since)}`;
  const message = safe(`${what} of ${type} in queue ${queue} ${wait}`);
  const there = live.filter((each) => each.queue === queue);
  const has = (each: WorkerSummary): boolean => each.types.includes(type);
  if (kind === "activity") {
    const who =
      there.length === 0
        ? `no live worker is in queue ${queue}`
        : "those of its queue have no such activity, or are behind";
    return warn("Workflows", message, safe(`Nobody takes them: ${who}. Start a worker that has the activity ${type}.`));
  }
  const ofBuild = there.filter(
    (each) => build === undefined || each.build === build || each.compatible?.includes(build),
  );
  if (definition !== undefined && ofBuild.some(has)) {
    const what = `They are bound to definition ${definition}; no live worker has that code of ${type}.`;
    return warn("Workflows", message, safe(`${what} Start one that has it, or end them.`));
  }
  if (build !== undefined && there.some(has)) {
    return warn("Workflows", message, safe(`They are bound to build ${build}; no live worker is of that build.`));
  }
  const others = [...new Set(live.filter(has).map((each) => each.queue))];
  if (others.length > 0) {
    return warn(
      "Workflows",
      message,
      safe(`Workers of queue ${sentenceList(others)} have that type; none of queue ${queue} has.`),
    );
  }
  const guess = didYouMean(type, new Set(live.flatMap(({ types }) => types)), String) || ".";
  return warn("Workflows", message, safe(`No live worker has a workflow ${type}${guess}`));
}

function staleChecks(workers: readonly WorkerSummary[]): Check[] {
  const stale = workers.filter(({ isLive }) => !isLive);
  if (stale.length === 0) return [];
  const message = `${plural(stale.length, "worker")} ${stale.length === 1 ? "has" : "have"} not been heard of lately`;
  return [
    warn("Workers", message, "They ended without saying so, or hang. What they had in memory is replayed by others."),
  ];
}

/** Of the tasks whose run some worker had in memory, how many found it there? */
function stickyChecks({ sticky, lastMinute }: WorkerOverview, live: readonly WorkerSummary[]): Check[] {
  if (!sticky.isEnabled) return [ok("Warm runs", "switched off (worker.sticky): every task is replayed")];
  const { sticky_hit_expected: expected, forced_cold_replay: forced, miss } = lastMinute;
  const tasks = expected + forced;
  if (tasks < ENOUGH_TASKS) return [];
  const rate = Math.max(0, expected - miss) / tasks;
  const percent = `${Math.round(rate * 100)}% of ${tasks} tasks of the last minute found their run in memory`;
  if (rate >= GOOD_RATE) return [ok("Warm runs", percent)];
  const numbers = `${percent}; ${miss} missed it, ${forced} were replayed elsewhere`;
  const causes = causesOf(miss, forced, sticky.ttlMs, live);
  if (rate >= BAD_RATE) return [warn("Warm runs", numbers, causes)];
  const nothingLost = "Nothing is lost by it, but keeping runs in memory does not make replays cheaper.";
  return [warn("Warm runs", numbers, `${nothingLost} ${causes}`)];
}

/** What it usually means, the likelier first. */
function causesOf(miss: number, forced: number, ttlMs: number, live: readonly WorkerSummary[]): string {
  const full = "the memory of the workers is too small (worker.cacheRuns, worker.cacheMegabytes)";
  const short = `the preference for the worker that has a run ends too early (worker.stickyTtl is ${formatDuration(ttlMs)})`;
  const replaced = "workers are replaced often";
  const evicts = live.some(({ evictions }) => evictions > 0);
  const causes = miss > forced || evicts ? [full, short, replaced] : [short, replaced, full];
  return `Usually ${causes[0]}; else ${causes[1]}, or ${causes[2]}.`;
}

function pressureChecks(live: readonly WorkerSummary[]): Check[] {
  const pressed = live.filter(
    ({ isSticky, capacity, size }) => isSticky && capacity > 0 && size >= capacity * PRESSURE,
  );
  if (pressed.length === 0) return [];
  const [{ worker, size, capacity }] = pressed as [WorkerSummary];
  const more =
    pressed.length === 1 ? "" : `, and ${pressed.length - 1} more ${pressed.length === 2 ? "is" : "are"} as full`;
  const message = safe(`worker ${worker} has ${size} runs in memory and room for ${capacity}${more}`);
  return [
    warn("Worker memory", message, "Warm runs will have to leave. Raise worker.cacheRuns, or start more workers."),
  ];
}
