// Selects the settings of each feature from the settings of the process. Pure.
import type { Catalog } from "../actors/catalog.ts";
import type { Settings } from "../config/settings.ts";
import type { Random } from "../ports/random.ts";
import type { ReminderSettings } from "../reminders/node.ts";
import type { WorkflowSettings } from "../workflows/node.ts";

/** Share of the drain timeout for activities and reminders; actors get the rest. */
const DRAIN_FIRST = 0.5;

export function catalogSettings(settings: Settings): ConstructorParameters<typeof Catalog>[1] {
  return {
    namespace: settings.namespace,
    idleTimeoutMs: settings.idleTimeout,
    callTimeoutMs: settings.callTimeout,
    mailboxLimit: settings.mailboxLimit,
    maxResident: settings.maxResident,
    sticky: settings.sticky,
    sharding: {
      rebalanceThreshold: settings.shardingRebalanceThreshold,
      bufferSize: settings.shardingBufferSize,
      retryMs: settings.shardingRetryInterval,
      startMs: settings.shardingStartTimeout,
      minHosts: settings.shardingMinHosts,
    },
    drainTimeoutMs: settings.drainTimeout,
    storeTimeoutMs: settings.storeTimeout,
    unhandledCallsCrash: settings.unhandledCalls === "crash",
  };
}

export function reminderSettings(settings: Settings): ReminderSettings {
  return {
    namespace: settings.namespace,
    pollMs: settings.reminderPollInterval,
    aheadMs: settings.reminderFetchAhead,
    batchSize: settings.reminderBatchSize,
    leaseMs: settings.reminderLease,
    concurrency: settings.reminderConcurrency,
    direct: settings.reminderDirect,
    patienceMs: settings.storeTimeout,
    drainMs: settings.drainTimeout * DRAIN_FIRST,
  };
}

export function workflowSettings(settings: Settings, random: Random): WorkflowSettings {
  return {
    namespace: settings.namespace,
    workerId: random.id(),
    queue: settings.workerQueue,
    build: settings.workerBuild,
    compatible: settings.workerCompatibleBuilds,
    pinning: settings.workerPinning,
    leaseMs: settings.workerLease,
    httpLeaseMs: settings.workerHttpLease,
    httpActivityLeaseMs: settings.workerHttpActivityLease,
    callTimeoutMs: settings.callTimeout,
    pollMs: settings.workerPollInterval,
    concurrency: settings.workerConcurrency,
    cacheRuns: settings.workerCacheRuns,
    cacheBytes: settings.workerCacheMegabytes * 1024 * 1024,
    historyLimit: { events: settings.workerHistoryEvents, bytes: settings.workerHistoryMegabytes * 1024 * 1024 },
    maxLostAttempts: settings.workerMaxLostAttempts,
    isSticky: settings.workerSticky,
    stickyMs: settings.workerStickyTtl,
    drainMs: settings.drainTimeout * DRAIN_FIRST,
    patienceMs: settings.storeTimeout,
  };
}
