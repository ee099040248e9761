// The settings of the worker that runs workflows and their activities. All of them nest under `worker` in
// code and in limpet.yaml. This file only declares them.

import type { Duration } from "../kernel/durations.ts";
import { LIMITS } from "../kernel/limits.ts";
import { nameProblem, textProblem } from "../kernel/names.ts";
import type { Option } from "./option.ts";

export const PINNINGS = ["build", "definition"] as const;
export type PinningSetting = (typeof PINNINGS)[number];

/** The values as the program uses them: every value present, durations in milliseconds. */
export interface WorkerValues {
  readonly worker: boolean;
  readonly workerQueue: string;
  readonly workerBuild: string;
  readonly workerCompatibleBuilds: readonly string[];
  readonly workerPinning: PinningSetting;
  readonly workerConcurrency: number;
  readonly workerLease: number;
  readonly workerHttpLease: number;
  readonly workerHttpActivityLease: number;
  readonly workerPollInterval: number;
  readonly workerSticky: boolean;
  readonly workerStickyTtl: number;
  readonly workerCacheRuns: number;
  readonly workerCacheMegabytes: number;
  readonly workerHistoryEvents: number;
  readonly workerHistoryMegabytes: number;
  readonly workerMaxLostAttempts: number;
}

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
  worker: {
    kind: "yes/no",
    default: true,
    path: "worker",
    env: "LIMPET_WORKER",
    flag: "worker",
    help: "Run the workflows and activities of this process. It can start workflows in both cases.",
    breaks: "Off everywhere: workflows stay in the store and do not continue.",
  },
  workerQueue: {
    kind: "text",
    default: "default",
    path: "worker.queue",
    env: "LIMPET_WORKER_QUEUE",
    flag: "worker-queue",
    placeholder: "name",
    help: "The queue whose workflows and activities this process runs.",
    breaks: "When no process has the queue of a workflow, the workflow waits.",
    problem: (text) => nameProblem(text, LIMITS.wordBytes),
  },
  workerBuild: {
    kind: "text",
    default: "",
    path: "worker.build",
    env: "LIMPET_WORKER_BUILD",
    flag: "worker-build",
    placeholder: "name",
    help: "The build of the code. A run that it takes first is pinned to it: workers of other builds do not take it.",
    breaks: "When no worker of a build, or of a compatible one, is left, its pinned runs wait.",
    problem: (text) => (text === "" ? undefined : textProblem(text)),
  },
  workerCompatibleBuilds: {
    kind: "list",
    default: [],
    path: "worker.compatibleBuilds",
    env: "LIMPET_WORKER_COMPATIBLE_BUILDS",
    flag: "worker-compatible-builds",
    placeholder: "name",
    help: "Other builds whose runs this build can continue.",
    breaks:
      "If the code of such a build does not match, its runs are blocked here until a worker of their own build takes them.",
    problem: textProblem,
  },
  workerPinning: {
    kind: "text",
    default: "build",
    path: "worker.pinning",
    env: "LIMPET_WORKER_PINNING",
    flag: "worker-pinning",
    placeholder: "what",
    help: "How the first worker pins a run: to its build alone, or also to the text of the workflow's code.",
    breaks:
      "definition: after any change of that text, also one with ctx.version, earlier runs wait for a worker with the old text.",
    choices: PINNINGS,
  },
  workerConcurrency: {
    kind: "whole number",
    default: 1_000,
    path: "worker.concurrency",
    env: "LIMPET_WORKER_CONCURRENCY",
    flag: "worker-concurrency",
    placeholder: "number",
    help: "Workflow runs in progress at once, and activities that run at once.",
    breaks: "Too low: long activities delay the others. Too high: a backlog floods the systems that activities call.",
    min: 1,
    max: 100_000,
  },
  workerLease: {
    kind: "duration",
    default: "30s",
    path: "worker.lease",
    env: "LIMPET_WORKER_LEASE",
    flag: "worker-lease",
    placeholder: "duration",
    help: "How long other workers wait for a workflow task when its worker dies. A live worker renews it.",
    breaks:
      "Too low: a slow worker loses its tasks, and activities run twice. Too high: tasks of a dead worker are late by this.",
    min: 100,
  },
  workerHttpLease: {
    kind: "duration",
    default: "60s",
    path: "worker.httpLease",
    env: "LIMPET_WORKER_HTTP_LEASE",
    flag: "worker-http-lease",
    placeholder: "duration",
    help: "How long a worker in another language keeps a workflow task without a heartbeat.",
    breaks:
      "Too low: a slow worker loses its task, and another one repeats it. Too high: tasks of a dead worker are late by this.",
    min: 1_000,
    max: 86_400_000,
  },
  workerHttpActivityLease: {
    kind: "duration",
    default: "5m",
    path: "worker.httpActivityLease",
    env: "LIMPET_WORKER_HTTP_ACTIVITY_LEASE",
    flag: "worker-http-activity-lease",
    placeholder: "duration",
    help: "How long a worker in another language keeps an activity without a heartbeat. A shorter heartbeat limit of the activity applies instead.",
    breaks:
      "Too low: activities that are silent for longer run twice. Too high: activities of a dead worker are late by this.",
    min: 1_000,
    max: 86_400_000,
  },
  workerPollInterval: {
    kind: "duration",
    default: "1s",
    path: "worker.pollInterval",
    env: "LIMPET_WORKER_POLL_INTERVAL",
    flag: "worker-poll-interval",
    placeholder: "duration",
    help: "The longest time between two looks for tasks.",
    breaks:
      "Too low: idle workers keep the store busy. Too high: starts and signals of other processes are late, if the store cannot notify.",
    min: 10,
  },
  workerSticky: {
    kind: "yes/no",
    default: true,
    path: "worker.sticky",
    env: "LIMPET_WORKER_STICKY",
    flag: "worker-sticky",
    help: "Idle runs stay in memory, and their next task is reserved for the worker that has them.",
    breaks: "Off: every task replays its history. On: a task may wait for its worker for up to worker.stickyTtl.",
  },
  workerStickyTtl: {
    kind: "duration",
    default: "5m",
    path: "worker.stickyTtl",
    env: "LIMPET_WORKER_STICKY_TTL",
    flag: "worker-sticky-ttl",
    placeholder: "duration",
    help: "How long a task is reserved for the worker that has its run in memory.",
    breaks:
      "Too low: runs that are idle for longer are replayed. Too high: tasks wait for a live worker that is too busy.",
    min: 1_000,
  },
  workerCacheRuns: {
    kind: "whole number",
    default: 10_000,
    path: "worker.cacheRuns",
    env: "LIMPET_WORKER_CACHE_RUNS",
    flag: "worker-cache-runs",
    placeholder: "number",
    help: "Idle runs in memory; the least recently used leave first. 0: none.",
    breaks: "Too low: more replays. Too high: more memory.",
    min: 0,
    max: 10_000_000,
  },
  workerCacheMegabytes: {
    kind: "whole number",
    default: 256,
    path: "worker.cacheMegabytes",
    env: "LIMPET_WORKER_CACHE_MEGABYTES",
    flag: "worker-cache-megabytes",
    placeholder: "number",
    help: "The approximate memory for idle runs.",
    breaks: "Too low: more replays. Too high: the process may run out of memory.",
    min: 1,
    max: 1_000_000,
  },
  workerHistoryEvents: {
    kind: "whole number",
    default: 50_000,
    path: "worker.historyEvents",
    env: "LIMPET_WORKER_HISTORY_EVENTS",
    flag: "worker-history-events",
    placeholder: "number",
    help: "Events in the history of a run, at most. A longer run is parked, and continues on a worker with a higher limit.",
    breaks: "Too low: healthy runs are parked. Too high: a run that never ends takes longer and longer to replay.",
    min: 10,
    max: 10_000_000,
  },
  workerHistoryMegabytes: {
    kind: "whole number",
    default: 50,
    path: "worker.historyMegabytes",
    env: "LIMPET_WORKER_HISTORY_MEGABYTES",
    flag: "worker-history-megabytes",
    placeholder: "number",
    help: "The same in megabytes.",
    breaks: "Too low: healthy runs are parked. Too high: a replay takes that much memory.",
    min: 1,
    max: 10_000,
  },
  workerMaxLostAttempts: {
    kind: "whole number",
    default: 3,
    path: "worker.maxLostAttempts",
    env: "LIMPET_WORKER_MAX_LOST_ATTEMPTS",
    flag: "worker-max-lost-attempts",
    placeholder: "number",
    help: "How many attempts in a row at a workflow task may end with their process or with an expired lease. Then the run is parked until an operator wakes it.",
    breaks:
      "Too low: a few crashes or a slow process park healthy runs. Too high: a run that ends its process ends this many of them.",
    min: 1,
    max: 1_000_000,
  },
} as const satisfies Record<keyof WorkerValues, Option>;
