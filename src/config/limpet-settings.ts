// The settings as code writes them, with the comments that editors show. options.ts declares the same
// settings with their defaults and ranges; the type of a path there rejects a setting that is missing here.

import type { Duration } from "../kernel/durations.ts";
import type { LogLevel } from "../ports/log.ts";

export const STICKY_WORDS = ["by class", "all", "none"] as const;
/** By their classes, all, none, or exactly these. */
export type StickyTypesSetting = (typeof STICKY_WORDS)[number] | readonly string[];

export const UNHANDLED_CALLS = ["log", "crash"] as const;
/** The effect of an actor's call that fails and that nothing awaits. */
export type UnhandledCallsRule = (typeof UNHANDLED_CALLS)[number];

export const FAILOVERS = ["auto", "lease", "fast"] as const;
export type Failover = (typeof FAILOVERS)[number];

export const PINNINGS = ["build", "definition"] as const;
export type PinningSetting = (typeof PINNINGS)[number];

/** Settings in code. They override `limpet.yaml`; the environment and flags override them. */
export interface LimpetSettings {
  /** Actors of different namespaces on one store never see each other. */
  readonly namespace?: string;
  /** A file, `memory:`, or `postgres://…`. */
  readonly store?: string;
  /** The HTTP server: `true`, or its address and tokens. */
  readonly http?: boolean | HttpSettings;
  /** An actor without a call for this long leaves memory. */
  readonly idleTimeout?: Duration;
  /** A call without an answer for this long fails with CALL_TIMEOUT. */
  readonly callTimeout?: Duration;
  /** Calls that may wait for one actor. */
  readonly mailboxLimit?: number;
  /** Actors that may be in memory at once. */
  readonly maxResident?: number;
  /** Sticky types: `"by class"` (default), `"all"`, `"none"`, or exactly these. Overrides the classes. */
  readonly sticky?: StickyTypesSetting;
  /** How long `stop()` waits for running turns. */
  readonly drainTimeout?: Duration;
  /** How long commits and takes are retried when the store does not answer. */
  readonly storeTimeout?: Duration;
  /** Connections that this process opens to PostgreSQL, at most. */
  readonly storeConnections?: number;
  /**
   * When a call by an actor fails and nothing awaits it: `"log"` it and continue, or `"crash"` the process,
   * as Node does.
   */
  readonly unhandledCalls?: UnhandledCallsRule;
  readonly logLevel?: LogLevel;
  /** Whether this process joins other processes on the same store: `true`, `false`, or its options. */
  readonly cluster?: boolean | ClusterSettings;
  /** Dedicated schedulers, as `host:port`. Without them, one is found through the store. */
  readonly schedulers?: readonly string[];
  /** Defaults for sharded types; an option of the class overrides them. */
  readonly sharding?: ShardingSettings;
  /** Whether this process delivers reminders: `true`, `false`, or its options. */
  readonly reminders?: boolean | ReminderProcessing;
  /** Whether this process runs workflows: `true`, `false`, or its options. */
  readonly worker?: boolean | WorkerBlock;
}

export interface HttpSettings {
  readonly host?: string;
  /** 0 takes any free port. */
  readonly port?: number;
  /**
   * Callers must send one of these. Several may be valid at once, so that they can be replaced one by one.
   */
  readonly tokens?: readonly string[];
}

/** Settings in code under `cluster`. */
export interface ClusterSettings {
  /** The name of this host for display; default is the name of the machine. */
  readonly name?: string;
  /** The roles of this host: sharded types with a role live only on hosts that have it. */
  readonly roles?: readonly string[];
  /** The address of this process for other hosts; it listens there. */
  readonly host?: string;
  /** The port for calls of other hosts; 0 takes any free port. */
  readonly port?: number;
  /** The port of the scheduler of this process; 0 takes any free port. */
  readonly schedulerPort?: number;
  /**
   * The secret of the cluster. Several may be valid at once, so that it can be replaced; the first is used to
   * connect.
   */
  readonly keys?: readonly string[];
  /** How long a host may be silent before its actors move. */
  readonly lease?: Duration;
  /** How long the leading scheduler may be silent before another one leads. */
  readonly leaderLease?: Duration;
  /** How long a host may take to acknowledge a placement change. */
  readonly roundTimeout?: Duration;
  /** How long joins and leaves are collected before actors move. */
  readonly coalesce?: Duration;
  /** Points of each host on the ring of a type. */
  readonly replicationFactor?: number;
  /** How long a turn may continue when its actor moves to another host. */
  readonly moveTimeout?: Duration;
  readonly failover?: Failover;
}

/**
 * Settings in code under `sharding`. A class may set the same in `sharded({ … })`, and then its own value
 * counts.
 */
export interface ShardingSettings {
  /** Shards move for balance when the difference between two hosts exceeds this number of shards. */
  readonly rebalanceThreshold?: number;
  /** Calls of one type that a process keeps while their shards move or have no home. */
  readonly bufferSize?: number;
  /** How often a call that waits for a shard's home checks again, and a request to the leader is repeated. */
  readonly retryInterval?: Duration;
  /**
   * How long a host may take to confirm that it is the home of a shard; then the leader notifies it again.
   */
  readonly startTimeout?: Duration;
  /** Hosts of a type that must have joined before its first shard gets a home. */
  readonly minHosts?: number;
}

/** Settings in code under `reminders`. */
export interface ReminderProcessing {
  /** The longest time between two queries for reminders. */
  readonly pollInterval?: Duration;
  /** Reminders due within this time are claimed early, to fire on time. */
  readonly fetchAhead?: Duration;
  /** Reminders per claim. */
  readonly batchSize?: number;
  /** The lease of claimed reminders; renewed while the process delivers. */
  readonly lease?: Duration;
  /** Deliveries in progress at once. */
  readonly concurrency?: number;
  /** Whether the process that sets a reminder that is due soon also delivers it. */
  readonly direct?: boolean;
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

type PathIn<Block extends string, Fields> = `${Block}.${keyof Fields & string}`;

/** The path of a setting in code, with a dot where it is nested. */
export type SettingPath =
  | keyof LimpetSettings
  | PathIn<"http", HttpSettings>
  | PathIn<"cluster", ClusterSettings>
  | PathIn<"sharding", ShardingSettings>
  | PathIn<"reminders", ReminderProcessing>
  | PathIn<"worker", WorkerBlock>;
