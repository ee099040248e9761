// The declarations of all settings: name, kind, default, sources, and the effect of wrong values (the
// settings of the cluster are in cluster-options.ts). A new entry needs no other change: the reader, the
// flags of the command line, its help and the table in docs/options.md use it. This file only declares them.

import type { Duration } from "../kernel/durations.ts";
import { LIMITS } from "../kernel/limits.ts";
import { nameProblem } from "../kernel/names.ts";
import { LOG_LEVELS, type LogLevel } from "../ports/log.ts";
import { CLUSTER_OPTIONS, type ClusterSettings, type ClusterValues } from "./cluster-options.ts";
import type { Option } from "./option.ts";
import { hostProblem, storeProblem, tokenProblem } from "./places.ts";
import { REMINDER_OPTIONS, type ReminderProcessing, type ReminderValues } from "./reminder-options.ts";
import { SHARDING_OPTIONS, type ShardingSettings, type ShardingValues } from "./sharding-options.ts";
import { STICKY_OPTION, type StickyTypesSetting } from "./sticky-types.ts";
import { WORKER_OPTIONS, type WorkerBlock, type WorkerValues } from "./worker-options.ts";

/** The values as the program uses them: every value present, durations in milliseconds. */
export interface Settings extends ClusterValues, ShardingValues, ReminderValues, WorkerValues {
  readonly namespace: string;
  readonly store: string;
  readonly http: boolean;
  readonly httpHost: string;
  readonly httpPort: number;
  readonly httpTokens: readonly string[];
  readonly idleTimeout: number;
  readonly callTimeout: number;
  readonly mailboxLimit: number;
  readonly maxResident: number;
  readonly sticky: StickyTypesSetting;
  readonly drainTimeout: number;
  readonly storeTimeout: number;
  readonly storeConnections: number;
  readonly unhandledCalls: UnhandledCallsRule;
  readonly logLevel: LogLevel;
}

/** The effect of an actor's call that fails and that nothing awaits. */
export type UnhandledCallsRule = (typeof UNHANDLED_CALLS)[number];
const UNHANDLED_CALLS = ["log", "crash"] as const;

/** Settings in code. Everything is optional; `limpet.yaml`, the environment and flags override them. */
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

export type SettingKey = keyof Settings;

const SECOND = 1_000;

export const OPTIONS: { readonly [K in SettingKey]: Option } = {
  namespace: {
    kind: "text",
    default: "default",
    path: "namespace",
    env: "LIMPET_NAMESPACE",
    flag: "namespace",
    placeholder: "name",
    help: "The namespace of the actors.",
    breaks: "When two processes differ, neither sees the other's actors, even on the same store.",
    problem: (text) => nameProblem(text, LIMITS.wordBytes),
  },
  store: {
    kind: "text",
    default: ".limpet/limpet.db",
    path: "store",
    env: "LIMPET_STORE",
    flag: "store",
    placeholder: "location",
    help: 'Where state is kept: a SQLite file, "memory:" or "postgres://…".',
    breaks: '"memory:" loses all data when the process ends; a relative path depends on the working directory.',
    problem: storeProblem,
  },
  http: {
    kind: "yes/no",
    default: false,
    path: "http",
    env: "LIMPET_HTTP",
    flag: "http",
    help: "Start the HTTP server. `limpet dev` starts it by default.",
    breaks: "Without it the command line and other programs cannot reach the process.",
  },
  httpHost: {
    kind: "text",
    default: "127.0.0.1",
    path: "http.host",
    env: "LIMPET_HTTP_HOST",
    flag: "host",
    placeholder: "address",
    help: "The address on which the HTTP server listens.",
    breaks: "Other machines can reach any address but loopback, so it needs a token.",
    problem: hostProblem,
  },
  httpPort: {
    kind: "whole number",
    default: 7300,
    path: "http.port",
    env: "LIMPET_HTTP_PORT",
    flag: "port",
    placeholder: "number",
    help: "The port of the HTTP server; 0 takes any free one.",
    breaks: "Below 1024 most systems require more rights; with 0 the port is not known in advance.",
    min: 0,
    max: 65_535,
  },
  httpTokens: {
    kind: "list",
    default: [],
    path: "http.tokens",
    env: "LIMPET_HTTP_TOKENS",
    flag: "token",
    placeholder: "secret",
    help: "HTTP clients must send one of these. Prefer the environment: flags show in process lists.",
    breaks: "With none, every client that reaches the port may call; an attacker can guess short ones.",
    secret: true,
    problem: tokenProblem,
  },
  idleTimeout: {
    kind: "duration",
    default: "10m",
    path: "idleTimeout",
    env: "LIMPET_IDLE_TIMEOUT",
    flag: "idle-timeout",
    placeholder: "duration",
    help: "An actor without a call for this long leaves memory.",
    breaks: "Too low: hosts read actors from the store again and again. Too high: memory fills with unused actors.",
    min: SECOND,
  },
  callTimeout: {
    kind: "duration",
    default: "30s",
    path: "callTimeout",
    env: "LIMPET_CALL_TIMEOUT",
    flag: "call-timeout",
    placeholder: "duration",
    help: "A call without an answer for this long fails with CALL_TIMEOUT.",
    breaks:
      "Too low: slow turns look failed although they commit. Too high: callers wait long for an answer that never comes.",
    min: 1,
  },
  mailboxLimit: {
    kind: "whole number",
    default: 1_000,
    path: "mailboxLimit",
    env: "LIMPET_MAILBOX_LIMIT",
    flag: "mailbox-limit",
    placeholder: "number",
    help: "Calls that may wait for one actor; further calls fail with MAILBOX_FULL.",
    breaks: "Too low: short bursts fail. Too high: calls wait until they time out, and fill the memory.",
    min: 1,
    max: 1_000_000,
  },
  maxResident: {
    kind: "whole number",
    default: 200_000,
    path: "maxResident",
    env: "LIMPET_MAX_RESIDENT",
    flag: "max-resident",
    placeholder: "number",
    help: "Actors in memory at once; the least recently used leave first.",
    breaks: "Too low: actors enter and leave memory with every call. Too high: the process runs out of memory.",
    min: 1,
    max: 16_000_000,
  },
  sticky: STICKY_OPTION,
  drainTimeout: {
    kind: "duration",
    default: "10s",
    path: "drainTimeout",
    env: "LIMPET_DRAIN_TIMEOUT",
    flag: "drain-timeout",
    placeholder: "duration",
    help: "How long a stop waits for running activities, reminders and turns, all together.",
    breaks:
      "Too low: a stop cuts running turns off, and their callers get an error. Too high: stops and deploys take long.",
    min: 1,
  },
  storeTimeout: {
    kind: "duration",
    default: "10s",
    path: "storeTimeout",
    env: "LIMPET_STORE_TIMEOUT",
    flag: "store-timeout",
    placeholder: "duration",
    help: "How long the store may take to answer before a caller gets an error; covers connecting, statements and retries.",
    breaks: "Too low: a short restart of the database fails calls. Too high: callers notice late that it is down.",
    min: 1,
  },
  storeConnections: {
    kind: "whole number",
    default: 17,
    path: "storeConnections",
    env: "LIMPET_STORE_CONNECTIONS",
    flag: "store-connections",
    placeholder: "number",
    help: "Connections that this process opens to PostgreSQL, at most. SQLite uses none.",
    breaks:
      "Too low: commits, workflows and reminders wait for a connection. Too high: processes times connections exceed the server's max_connections.",
    min: 8,
    max: 1_000,
  },
  unhandledCalls: {
    kind: "text",
    default: "log",
    path: "unhandledCalls",
    env: "LIMPET_UNHANDLED_CALLS",
    flag: "unhandled-calls",
    placeholder: "rule",
    help: "What happens when a call by an actor fails and nothing awaits it: log and count it, or end the process.",
    breaks:
      "log: a forgotten await shows in the log and in limpet_unhandled_calls_total only. crash: one ends every actor of the host.",
    choices: UNHANDLED_CALLS,
  },
  logLevel: {
    kind: "text",
    default: "warn",
    path: "logLevel",
    env: "LIMPET_LOG_LEVEL",
    flag: "log-level",
    placeholder: "level",
    help: "The lowest level of log lines that are written. `limpet dev` starts with info.",
    breaks: "debug writes several lines for each activation; silent hides that the store is down.",
    choices: LOG_LEVELS,
  },
  ...CLUSTER_OPTIONS,
  ...SHARDING_OPTIONS,
  ...REMINDER_OPTIONS,
  ...WORKER_OPTIONS,
};

export const SETTING_KEYS = Object.keys(OPTIONS) as readonly SettingKey[];

/** Environment variables of the command line, which are not settings of a process. */
export const OTHER_ENV = ["LIMPET_CONFIG", "LIMPET_URL", "LIMPET_TOKEN", "LIMPET_DEBUG"] as const;
