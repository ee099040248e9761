// The settings of the worker that runs workflows and their activities. All of them nest under `worker` in code and in limpet.yaml.
// Nothing here reads anything.

import type { Duration } from "../kernel/durations.ts";
import { LIMITS } from "../kernel/limits.ts";
import { nameProblem, textProblem } from "../kernel/names.ts";
import type { Option } from "./option.ts";

export const PINNINGS = ["build", "definition"] as const;
export type Pinning = (typeof PINNINGS)[number];

/** As the rest of the program sees them: every value present, durations in milliseconds. */
export interface WorkerValues {
  readonly worker: boolean;
  readonly workerQueue: string;
  readonly workerBuild: string;
  readonly workerCompatibleBuilds: readonly string[];
  readonly workerPinning: Pinning;
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

/** What may be set in code under `worker`. */
export interface WorkerSettings {
  /** The queue whose workflows and activities it runs, and into which this process starts workflows. */
  readonly queue?: string | undefined;
  /** The build of the code. A run that a worker with a build takes first is bound to it: workers of other builds leave it alone. */
  readonly build?: string | undefined;
  /** Other builds whose runs this one can go on with. */
  readonly compatibleBuilds?: readonly string[] | undefined;
  /**
   * What a run is bound to by the worker that takes it first: its build, if it has one, or the definition of its workflow as well: then
   * workers whose code of it has another text leave it alone.
   */
  readonly pinning?: Pinning | undefined;
  /** Runs it works on at once, and activities that run at once. */
  readonly concurrency?: number | undefined;
  /** How long a task is waited for when its worker dies; renewed while it lives. */
  readonly lease?: Duration | undefined;
  /** The same for tasks of workers in other languages, which renew it over HTTP; and for their activities without a heartbeat. */
  readonly httpLease?: Duration | undefined;
  readonly httpActivityLease?: Duration | undefined;
  /** How often the store is asked for tasks at least. */
  readonly pollInterval?: Duration | undefined;
  /** Whether runs that rest stay in memory, and their next task is kept for this worker. */
  readonly sticky?: boolean | undefined;
  readonly stickyTtl?: Duration | undefined;
  /** How many runs may rest in memory, and how much they may take up. */
  readonly cacheRuns?: number | undefined;
  readonly cacheMegabytes?: number | undefined;
  /** How long the history of a run may get before it is parked. */
  readonly historyEvents?: number | undefined;
  readonly historyMegabytes?: number | undefined;
  /** Attempts in a row that may end with their process before a run is parked. */
  readonly maxLostAttempts?: number | undefined;
}

export const WORKER_OPTIONS = {
  worker: {
    kind: "yes/no",
    default: true,
    path: "worker",
    env: "LIMPET_WORKER",
    flag: "worker",
    help: "Run the workflows and activities of this process. They can be started either way.",
    breaks: "Off everywhere: workflows are kept and do not go on.",
  },
  workerQueue: {
    kind: "text",
    default: "default",
    path: "worker.queue",
    env: "LIMPET_WORKER_QUEUE",
    flag: "worker-queue",
    placeholder: "name",
    help: "The queue whose workflows and activities this process runs.",
    breaks: "When nobody has the queue that a workflow was started in, it waits.",
    problem: (text) => nameProblem(text, LIMITS.wordBytes),
  },
  workerBuild: {
    kind: "text",
    default: "",
    path: "worker.build",
    env: "LIMPET_WORKER_BUILD",
    flag: "worker-build",
    placeholder: "name",
    help: "The build of the code. A workflow that it takes first is bound to it: workers of other builds leave it alone.",
    breaks: "When no worker of a build is left, or of one that is compatible with it, what is bound to it waits.",
    problem: (text) => (text === "" ? undefined : textProblem(text)),
  },
  workerCompatibleBuilds: {
    kind: "list",
    default: [],
    path: "worker.compatibleBuilds",
    env: "LIMPET_WORKER_COMPATIBLE_BUILDS",
    flag: "worker-compatible-builds",
    placeholder: "name",
    help: "Other builds whose workflows this one can go on with.",
    breaks:
      "With one whose workflows decide something else: they are blocked here, until one of their own build takes them.",
    problem: textProblem,
  },
  workerPinning: {
    kind: "text",
    default: "build",
    path: "worker.pinning",
    env: "LIMPET_WORKER_PINNING",
    flag: "worker-pinning",
    placeholder: "what",
    help: "What a workflow is bound to by the worker that takes it first: its build alone, or the text of the workflow's code as well.",
    breaks:
      "definition: after any change of that text, also one with ctx.version, what was begun before waits for a worker with the old text.",
    choices: PINNINGS,
  },
  workerConcurrency: {
    kind: "whole number",
    default: 1_000,
    path: "worker.concurrency",
    env: "LIMPET_WORKER_CONCURRENCY",
    flag: "worker-concurrency",
    placeholder: "number",
    help: "Runs of workflows that are worked on at once, and activities that run at once.",
    breaks: "Too low: long activities hold up the others. Too high: a backlog floods what activities call.",
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
    help: "How long a task of a workflow is waited for when its worker dies. Renewed while it lives.",
    breaks:
      "Too low: a slow worker loses its tasks, and activities run twice. Too high: what a dead one had is late by this.",
    min: 100,
  },
  workerHttpLease: {
    kind: "duration",
    default: "60s",
    path: "worker.httpLease",
    env: "LIMPET_WORKER_HTTP_LEASE",
    flag: "worker-http-lease",
    placeholder: "duration",
    help: "How long a worker in another language has a task of a workflow, unless it says over HTTP that it is still at it.",
    breaks:
      "Too low: a slow worker does a task for nothing, and another one does it again. Too high: what a dead one had is late by this.",
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
    help: "How long a worker in another language has an activity without a heartbeat. A shorter heartbeat limit of the activity counts instead.",
    breaks:
      "Too low: activities that are silent for longer run twice. Too high: what a dead worker had is late by this.",
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
    help: "How often the store is asked for tasks, at least.",
    breaks:
      "Too low: idle workers keep the store busy. Too high: what another process started or signalled is late, where the store cannot tell.",
    min: 10,
  },
  workerSticky: {
    kind: "yes/no",
    default: true,
    path: "worker.sticky",
    env: "LIMPET_WORKER_STICKY",
    flag: "worker-sticky",
    help: "Runs that rest stay in memory, and their next task is kept for the worker that has them.",
    breaks: "Off: every task replays its history. On: a task may wait for its worker for as long as the time below.",
  },
  workerStickyTtl: {
    kind: "duration",
    default: "5m",
    path: "worker.stickyTtl",
    env: "LIMPET_WORKER_STICKY_TTL",
    flag: "worker-sticky-ttl",
    placeholder: "duration",
    help: "For how long a task is kept for the worker that has its run in memory.",
    breaks:
      "Too low: runs that rest longer are replayed. Too high: tasks wait for a worker that is there and too busy.",
    min: 1_000,
  },
  workerCacheRuns: {
    kind: "whole number",
    default: 10_000,
    path: "worker.cacheRuns",
    env: "LIMPET_WORKER_CACHE_RUNS",
    flag: "worker-cache-runs",
    placeholder: "number",
    help: "Runs that may rest in memory; those that were used least recently leave first. 0: none.",
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
    help: "What the runs that rest in memory may take up, roughly.",
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
    help: "Events that the history of a workflow may have. One that would get longer is parked, and goes on where more is allowed.",
    breaks: "Too low: workflows that are well are parked. Too high: one that never ends takes ever longer to replay.",
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
    breaks: "Too low: workflows that are well are parked. Too high: a replay takes that much memory.",
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
