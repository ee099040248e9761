// The table of all settings: name, kind, default, range and the effect of wrong values. Other files declare
// the settings of a block. The type `Settings`, the reader, the variables, the flags with their help and
// docs/options.md follow from it. Only the types for code, such as `LimpetSettings`, list the settings again.

import type { Duration } from "../kernel/durations.ts";
import { LIMITS } from "../kernel/limits.ts";
import { nameProblem } from "../kernel/names.ts";
import { LOG_LEVELS, type LogLevel } from "../ports/log.ts";
import { CLUSTER_OPTIONS, type ClusterSettings } from "./cluster-options.ts";
import { choiceOf, duration, freeText, type SettingsOf, textList, wholeNumber, wordOrList, yesNo } from "./option.ts";
import { hostProblem, storeProblem, tokenProblem } from "./places.ts";
import { REMINDER_OPTIONS, type ReminderProcessing } from "./reminder-options.ts";
import { SHARDING_OPTIONS, type ShardingSettings } from "./sharding-options.ts";
import { WORKER_OPTIONS, type WorkerBlock } from "./worker-options.ts";

/** The effect of an actor's call that fails and that nothing awaits. */
export type UnhandledCallsRule = (typeof UNHANDLED_CALLS)[number];
const UNHANDLED_CALLS = ["log", "crash"] as const;

export const STICKY_WORDS = ["by class", "all", "none"] as const;
/** By their classes, all, none, or exactly these. */
export type StickyTypesSetting = (typeof STICKY_WORDS)[number] | readonly string[];

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

const SECOND = 1_000;

export const OPTIONS = {
  namespace: freeText("namespace", "default", {
    placeholder: "name",
    help: "The namespace of the actors.",
    breaks: "When two processes differ, neither sees the other's actors, even on the same store.",
    problem: (text) => nameProblem(text, LIMITS.wordBytes),
  }),
  store: freeText("store", ".limpet/limpet.db", {
    placeholder: "location",
    help: 'Where state is kept: a SQLite file, "memory:" or "postgres://…".',
    breaks: '"memory:" loses all data when the process ends; a relative path depends on the working directory.',
    problem: storeProblem,
  }),
  http: yesNo("http", false, {
    help: "Start the HTTP server. `limpet dev` starts it by default.",
    breaks: "Without it the command line and other programs cannot reach the process.",
  }),
  httpHost: freeText("http.host", "127.0.0.1", {
    flag: "host",
    placeholder: "address",
    help: "The address on which the HTTP server listens.",
    breaks: "Other machines can reach any address but loopback, so it needs a token.",
    problem: hostProblem,
  }),
  httpPort: wholeNumber("http.port", 7300, [0, 65_535], {
    flag: "port",
    help: "The port of the HTTP server; 0 takes any free one.",
    breaks: "Below 1024 most systems require more rights; with 0 the port is not known in advance.",
  }),
  httpTokens: textList("http.tokens", {
    flag: "token",
    placeholder: "secret",
    help: "HTTP clients must send one of these. Prefer the environment: flags show in process lists.",
    breaks: "With none, every client that reaches the port may call; an attacker can guess short ones.",
    secret: true,
    problem: tokenProblem,
  }),
  idleTimeout: duration("idleTimeout", "10m", [SECOND], {
    help: "An actor without a call for this long leaves memory.",
    breaks: "Too low: hosts read actors from the store again and again. Too high: memory fills with unused actors.",
  }),
  callTimeout: duration("callTimeout", "30s", [1], {
    help: "A call without an answer for this long fails with CALL_TIMEOUT.",
    breaks:
      "Too low: slow turns look failed although they commit. Too high: callers wait long for an answer that never comes.",
  }),
  mailboxLimit: wholeNumber("mailboxLimit", 1_000, [1, 1_000_000], {
    help: "Calls that may wait for one actor; further calls fail with MAILBOX_FULL.",
    breaks: "Too low: short bursts fail. Too high: calls wait until they time out, and fill the memory.",
  }),
  maxResident: wholeNumber("maxResident", 200_000, [1, 16_000_000], {
    help: "Actors in memory at once; the least recently used leave first.",
    breaks: "Too low: actors enter and leave memory with every call. Too high: the process runs out of memory.",
  }),
  sticky: wordOrList("sticky", STICKY_WORDS, {
    placeholder: "types",
    help: "Which types are sticky: their actors stay on the host that first activated them. by class: the classes decide. all, none or a list of types overrides the classes.",
    breaks:
      "Hosts that disagree on whether a type is sticky cannot form a cluster. Sticky actors stay in memory, and a joining host takes none of them over.",
    problem: stickyTypeProblem,
    whenEmpty: 'names no type; write "none" if no type is to be sticky',
  }),
  drainTimeout: duration("drainTimeout", "10s", [1], {
    help: "How long a stop waits for running activities, reminders and turns, all together.",
    breaks:
      "Too low: a stop cuts running turns off, and their callers get an error. Too high: stops and deploys take long.",
  }),
  storeTimeout: duration("storeTimeout", "10s", [1], {
    help: "How long the store may take to answer before a caller gets an error; covers connecting, statements and retries.",
    breaks: "Too low: a short restart of the database fails calls. Too high: callers notice late that it is down.",
  }),
  storeConnections: wholeNumber("storeConnections", 17, [8, 1_000], {
    help: "Connections that this process opens to PostgreSQL, at most. SQLite uses none.",
    breaks:
      "Too low: commits, workflows and reminders wait for a connection. Too high: processes times connections exceed the server's max_connections.",
  }),
  unhandledCalls: choiceOf("unhandledCalls", "log", UNHANDLED_CALLS, {
    placeholder: "rule",
    help: "What happens when a call by an actor fails and nothing awaits it: log and count it, or end the process.",
    breaks:
      "log: a forgotten await shows in the log and in limpet_unhandled_calls_total only. crash: one ends every actor of the host.",
  }),
  logLevel: choiceOf("logLevel", "warn", LOG_LEVELS, {
    placeholder: "level",
    help: "The lowest level of log lines that are written. `limpet dev` starts with info.",
    breaks: "debug writes several lines for each activation; silent hides that the store is down.",
  }),
  ...CLUSTER_OPTIONS,
  ...SHARDING_OPTIONS,
  ...REMINDER_OPTIONS,
  ...WORKER_OPTIONS,
};

export type Settings = SettingsOf<typeof OPTIONS>;
export type SettingKey = keyof Settings;

export const SETTING_KEYS = Object.keys(OPTIONS) as readonly SettingKey[];

/** Environment variables of the command line, which are not settings of a process. */
export const OTHER_ENV = ["LIMPET_CONFIG", "LIMPET_URL", "LIMPET_TOKEN", "LIMPET_DEBUG"] as const;

function stickyTypeProblem(type: string): string | undefined {
  if ((STICKY_WORDS as readonly string[]).includes(type)) return "stands in the place of a list and not in one";
  return nameProblem(type, LIMITS.wordBytes);
}
