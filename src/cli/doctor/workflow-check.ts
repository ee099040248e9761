// Checks that workflows make progress and that sticky execution pays off. It requests the local process,
// which knows the store and the workers; without one it reports nothing.

import type { Settings } from "../../config/options.ts";
import { formatDuration } from "../../kernel/durations.ts";
import { didYouMean } from "../../kernel/nearest.ts";
import type { Unserved, WorkerOverview, WorkerSummary } from "../../ports/workflow-admin.ts";
import { askAdmin } from "../common/admin.ts";
import { Failure } from "../common/failure.ts";
import { formatSpan, plural, sentenceList } from "../common/phrases.ts";
import { safe } from "../common/terminal.ts";
import { type Check, passed, warn } from "./check.ts";
import { targetOf } from "./port-check.ts";

/** Fewer tasks than this are not significant. */
const ENOUGH_TASKS = 20;
/** Share of tasks with a warm run on some worker that should find it there. */
const GOOD_RATE = 0.8;
const BAD_RATE = 0.5;
/** A worker with a cache this full will soon evict runs. */
const PRESSURE = 0.9;

export async function checkWorkflows(settings: Settings): Promise<Check[]> {
  if (settings.httpPort === 0) return [];
  try {
    return workflowChecks(await askAdmin(targetOf(settings), { kind: "workers" }));
  } catch (error) {
    // No process or another program listens there; the port check reports it.
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
    ...(trouble.length === 0 ? [passed("Workflows", state)] : trouble),
    ...staleChecks(workers),
    ...stickyChecks(overview, live),
    ...pressureChecks(live),
  ];
}

function blockedChecks({ blocked }: WorkerOverview): Check[] {
  if (blocked === 0) return [];
  const message = `${plural(blocked, "workflow")} ${blocked === 1 ? "is" : "are"} blocked: the code cannot continue`;
  return [warn("Workflows", message, "limpet workflows --blocked lists them, limpet workflows <id> shows why.")];
}

/** Runs of a type, or activities of a name, without a worker. */
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
        : "the workers of the queue have no such activity, or are behind";
    return warn("Workflows", message, safe(`No worker takes them: ${who}. Start a worker with the activity ${type}.`));
  }
  const ofBuild = there.filter(
    (each) => build === undefined || each.build === build || each.compatible?.includes(build),
  );
  if (definition !== undefined && ofBuild.some(has)) {
    const what = `They are pinned to definition ${definition}; no live worker has that code of ${type}.`;
    return warn("Workflows", message, safe(`${what} Start one with that code, or end the runs.`));
  }
  if (build !== undefined && there.some(has)) {
    return warn("Workflows", message, safe(`They are pinned to build ${build}; no live worker has that build.`));
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
  const message = `${plural(stale.length, "worker")} ${stale.length === 1 ? "has" : "have"} sent no heartbeat lately`;
  return [warn("Workers", message, "They crashed or hang. Other workers replay their runs.")];
}

/** Share of tasks that found their warm run. */
function stickyChecks({ sticky, lastMinute }: WorkerOverview, live: readonly WorkerSummary[]): Check[] {
  if (!sticky.isEnabled) return [passed("Warm runs", "disabled (worker.sticky): every task is replayed")];
  const { sticky_hit_expected: expected, forced_cold_replay: forced, miss } = lastMinute;
  const tasks = expected + forced;
  if (tasks < ENOUGH_TASKS) return [];
  const rate = Math.max(0, expected - miss) / tasks;
  const percent = `${Math.round(rate * 100)}% of ${tasks} tasks of the last minute found their run in memory`;
  if (rate >= GOOD_RATE) return [passed("Warm runs", percent)];
  const numbers = `${percent}; ${miss} missed it, ${forced} were replayed on another worker`;
  const causes = causesOf(miss, forced, sticky.ttlMs, live);
  if (rate >= BAD_RATE) return [warn("Warm runs", numbers, causes)];
  const nothingLost = "No work is lost, but warm runs do not save replays.";
  return [warn("Warm runs", numbers, `${nothingLost} ${causes}`)];
}

/** Usual causes, the likelier first. */
function causesOf(miss: number, forced: number, ttlMs: number, live: readonly WorkerSummary[]): string {
  const full = "the caches of the workers are too small (worker.cacheRuns, worker.cacheMegabytes)";
  const short = `the affinity of runs ends too early (worker.stickyTtl is ${formatDuration(ttlMs)})`;
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
  return [warn("Worker memory", message, "It will evict warm runs. Raise worker.cacheRuns, or start more workers.")];
}
