// The settings of the worker that runs workflows and their activities. All of them nest under `worker` in
// code and in limpet.yaml. This file only declares them.

import type { Duration } from "../kernel/durations.ts";
import { LIMITS } from "../kernel/limits.ts";
import { nameProblem, textProblem } from "../kernel/names.ts";
import { choiceOf, duration, freeText, textList, wholeNumber, yesNo } from "./option.ts";

export const PINNINGS = ["build", "definition"] as const;
export type PinningSetting = (typeof PINNINGS)[number];

/** Settings in code under `worker`. */
export interface WorkerBlock {
  /** The queue of its workflows and activities, and of workflows that this process starts. */
  readonly queue?: string;
  /**
   * The build of the code. A run that a worker with a build claims first is pinned to it: workers of other
   * builds skip it.
   */
  readonly build?: string;
  /** Other builds whose runs this one can continue. */
  readonly compatibleBuilds?: readonly string[];
  /**
   * The pinning of a run by the worker that claims it first: its build, if it has one, or also the definition
   * of its workflow. Workers with another text of that definition then skip it.
   */
  readonly pinning?: PinningSetting;
  /** Runs in progress at once, and activities that run at once. */
  readonly concurrency?: number;
  /** How long other workers wait for a task when its worker dies; renewed while it lives. */
  readonly lease?: Duration;
  /**
   * The same for tasks of workers in other languages, which renew it over HTTP; and for their activities
   * without a heartbeat.
   */
  readonly httpLease?: Duration;
  readonly httpActivityLease?: Duration;
  /** The longest time between two queries for tasks. */
  readonly pollInterval?: Duration;
  /** Whether idle runs stay in memory, and their next task is reserved for this worker. */
  readonly sticky?: boolean;
  readonly stickyTtl?: Duration;
  /** The limits of idle runs in memory, in number and in size. */
  readonly cacheRuns?: number;
  readonly cacheMegabytes?: number;
  /** The limits of a run's history before it is parked. */
  readonly historyEvents?: number;
  readonly historyMegabytes?: number;
  /** Consecutive attempts that may end with their process before a run is parked. */
  readonly maxLostAttempts?: number;
}

export const WORKER_OPTIONS = {
  worker: yesNo("worker", true, {
    help: "Run the workflows and activities of this process. It can start workflows in both cases.",
    breaks: "Off everywhere: workflows stay in the store and do not continue.",
  }),
  workerQueue: freeText("worker.queue", "default", {
    placeholder: "name",
    help: "The queue whose workflows and activities this process runs.",
    breaks: "When no process has the queue of a workflow, the workflow waits.",
    problem: (text) => nameProblem(text, LIMITS.wordBytes),
  }),
  workerBuild: freeText("worker.build", "", {
    placeholder: "name",
    help: "The build of the code. A run that it takes first is pinned to it: workers of other builds do not take it.",
    breaks: "When no worker of a build, or of a compatible one, is left, its pinned runs wait.",
    problem: (text) => (text === "" ? undefined : textProblem(text)),
  }),
  workerCompatibleBuilds: textList("worker.compatibleBuilds", {
    placeholder: "name",
    help: "Other builds whose runs this build can continue.",
    breaks:
      "If the code of such a build does not match, its runs are blocked here until a worker of their own build takes them.",
    problem: textProblem,
  }),
  workerPinning: choiceOf("worker.pinning", "build", PINNINGS, {
    placeholder: "what",
    help: "How the first worker pins a run: to its build alone, or also to the text of the workflow's code.",
    breaks:
      "definition: after any change of that text, also one with ctx.version, earlier runs wait for a worker with the old text.",
  }),
  workerConcurrency: wholeNumber("worker.concurrency", 1_000, [1, 100_000], {
    help: "Workflow runs in progress at once, and activities that run at once.",
    breaks: "Too low: long activities delay the others. Too high: a backlog floods the systems that activities call.",
  }),
  workerLease: duration("worker.lease", "30s", [100], {
    help: "How long other workers wait for a workflow task when its worker dies. A live worker renews it.",
    breaks:
      "Too low: a slow worker loses its tasks, and activities run twice. Too high: tasks of a dead worker are late by this.",
  }),
  workerHttpLease: duration("worker.httpLease", "60s", [1_000, 86_400_000], {
    help: "How long a worker in another language keeps a workflow task without a heartbeat.",
    breaks:
      "Too low: a slow worker loses its task, and another one repeats it. Too high: tasks of a dead worker are late by this.",
  }),
  workerHttpActivityLease: duration("worker.httpActivityLease", "5m", [1_000, 86_400_000], {
    help: "How long a worker in another language keeps an activity without a heartbeat. A shorter heartbeat limit of the activity applies instead.",
    breaks:
      "Too low: activities that are silent for longer run twice. Too high: activities of a dead worker are late by this.",
  }),
  workerPollInterval: duration("worker.pollInterval", "1s", [10], {
    help: "The longest time between two looks for tasks.",
    breaks:
      "Too low: idle workers keep the store busy. Too high: starts and signals of other processes are late, if the store cannot notify.",
  }),
  workerSticky: yesNo("worker.sticky", true, {
    help: "Idle runs stay in memory, and their next task is reserved for the worker that has them.",
    breaks: "Off: every task replays its history. On: a task may wait for its worker for up to worker.stickyTtl.",
  }),
  workerStickyTtl: duration("worker.stickyTtl", "5m", [1_000], {
    help: "How long a task is reserved for the worker that has its run in memory.",
    breaks:
      "Too low: runs that are idle for longer are replayed. Too high: tasks wait for a live worker that is too busy.",
  }),
  workerCacheRuns: wholeNumber("worker.cacheRuns", 10_000, [0, 10_000_000], {
    help: "Idle runs in memory; the least recently used leave first. 0: none.",
    breaks: "Too low: more replays. Too high: more memory.",
  }),
  workerCacheMegabytes: wholeNumber("worker.cacheMegabytes", 256, [1, 1_000_000], {
    help: "The approximate memory for idle runs.",
    breaks: "Too low: more replays. Too high: the process may run out of memory.",
  }),
  workerHistoryEvents: wholeNumber("worker.historyEvents", 50_000, [10, 10_000_000], {
    help: "Events in the history of a run, at most. A longer run is parked, and continues on a worker with a higher limit.",
    breaks: "Too low: healthy runs are parked. Too high: a run that never ends takes longer and longer to replay.",
  }),
  workerHistoryMegabytes: wholeNumber("worker.historyMegabytes", 50, [1, 10_000], {
    help: "The same in megabytes.",
    breaks: "Too low: healthy runs are parked. Too high: a replay takes that much memory.",
  }),
  workerMaxLostAttempts: wholeNumber("worker.maxLostAttempts", 3, [1, 1_000_000], {
    help: "How many attempts in a row at a workflow task may end with their process or with an expired lease. Then the run is parked until an operator wakes it.",
    breaks:
      "Too low: a few crashes or a slow process park healthy runs. Too high: a run that ends its process ends this many of them.",
  }),
};
