// The table of all settings: name, kind, default, range and the effect of wrong values. The type `Settings`,
// the reader, the variables, the flags with their help and docs/options.md follow from it. This file only
// declares them.

import { LIMITS } from "../kernel/limits.ts";
import { nameProblem, textProblem } from "../kernel/names.ts";
import { SHARDING } from "../kernel/sharded-rule.ts";
import { MOST_SHARDS } from "../kernel/shards.ts";
import { LOG_LEVELS } from "../ports/log.ts";
import { FAILOVERS, PINNINGS, STICKY_WORDS, UNHANDLED_CALLS } from "./limpet-settings.ts";
import { choiceOf, duration, freeText, type SettingsOf, textList, wholeNumber, wordOrList, yesNo } from "./option.ts";
import {
  addressProblem,
  hostProblem,
  keyProblem,
  nameOfHostProblem,
  reachableProblem,
  storeProblem,
  tokenProblem,
} from "./places.ts";

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
  idleTimeout: duration("idleTimeout", "10m", ["1s"], {
    help: "An actor without a call for this long leaves memory.",
    breaks: "Too low: hosts read actors from the store again and again. Too high: memory fills with unused actors.",
  }),
  callTimeout: duration("callTimeout", "30s", ["1ms"], {
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
  drainTimeout: duration("drainTimeout", "10s", ["1ms"], {
    help: "How long a stop waits for running activities, reminders and turns, all together.",
    breaks:
      "Too low: a stop cuts running turns off, and their callers get an error. Too high: stops and deploys take long.",
  }),
  storeTimeout: duration("storeTimeout", "10s", ["1ms"], {
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

  // ——— The cluster.
  cluster: yesNo("cluster", true, {
    help: "Processes that share the store form a cluster.",
    breaks:
      "Without it, processes on one store take actors from each other: no state is lost, but calls fail and wait.",
  }),
  clusterName: freeText("cluster.name", "", {
    flag: "name",
    placeholder: "name",
    help: "The name of this host; the name of the machine by default.",
    breaks: "Only their addresses distinguish hosts of the same name.",
    problem: nameOfHostProblem,
  }),
  clusterRoles: textList("cluster.roles", {
    flag: "role",
    placeholder: "name",
    help: "The roles of this host. A sharded type with a role lives only on hosts that have it; others forward calls to them.",
    breaks: "When no host has the role of a type, calls fail with NO_HOST.",
    problem: (text) => nameProblem(text, LIMITS.wordBytes),
  }),
  clusterHost: freeText("cluster.host", "127.0.0.1", {
    placeholder: "address",
    help: "The address at which other hosts and the scheduler reach this process; it listens there.",
    breaks:
      "With loopback, only processes of this machine form a cluster; any other address needs a key, because other machines can reach it.",
    problem: reachableProblem,
  }),
  linkPort: wholeNumber("cluster.port", 0, [0, 65_535], {
    help: "The port at which other hosts call this host; 0 takes any free one.",
    breaks: "A firewall between hosts needs a fixed port; two processes of one machine cannot share it.",
  }),
  schedulerPort: wholeNumber("cluster.schedulerPort", 0, [0, 65_535], {
    env: "LIMPET_SCHEDULER_PORT",
    flag: "scheduler-port",
    help: "The port at which hosts reach the scheduler of this process; 0 takes any free one. `limpet scheduler` starts with 7400.",
    breaks: "With 0 the port is not known in advance; two processes of one machine cannot share it.",
  }),
  clusterKeys: textList("cluster.keys", {
    flag: "cluster-key",
    placeholder: "secret",
    help: "A secret that all processes of the cluster share. It encrypts their traffic, and both sides prove that they know it. Several may be valid; the process connects with the first.",
    breaks:
      "With none, processes on loopback prove that they can read the store; processes without a common key cannot connect. Flags show in process lists.",
    secret: true,
    problem: keyProblem,
  }),
  schedulers: textList("schedulers", {
    placeholder: "host:port",
    help: "The dedicated schedulers to use, instead of finding one through the store.",
    breaks: "While all of them are unreachable, no host can join, and hosts that have joined lose their lease.",
    problem: addressProblem,
  }),
  lease: duration("cluster.lease", "10s", ["1s", "5m"], {
    flag: "lease",
    help: "How long a host may be silent before its actors move to other hosts.",
    breaks:
      "Too low: a short pause of a process or of the network moves its actors. Too high: actors of a dead host are unavailable for that long.",
  }),
  leaderLease: duration("cluster.leaderLease", "3s", ["300ms"], {
    flag: "leader-lease",
    help: "How long the leader may be silent before another scheduler leads.",
    breaks:
      "Too low: the leader changes with every short delay of the store. Too high: hosts lose their lease before a scheduler leads again.",
  }),
  roundTimeout: duration("cluster.roundTimeout", "8s", ["1ms"], {
    flag: "round-timeout",
    help: "How long a host may take to confirm a change of a type's hosts.",
    breaks: "Too low: the leader excludes a slow host. Too high: a host that hangs delays the change for that long.",
  }),
  coalesce: duration("cluster.coalesce", "0ms", ["0ms"], {
    flag: "coalesce",
    help: "How long the leader collects joins and leaves before actors move.",
    breaks:
      "Too low: hosts that start one after another move actors each time. Too high: a new host waits for its actors for that long.",
  }),
  replicationFactor: wholeNumber("cluster.replicationFactor", 100, [1, 1_000], {
    flag: "replication-factor",
    help: "Points of each host on the ring of a type; the value of the leader applies.",
    breaks:
      "Too low: some hosts get many more actors than others. Too high: every change of hosts costs more time and memory.",
  }),
  moveTimeout: duration("cluster.moveTimeout", "2s", ["1ms"], {
    flag: "move-timeout",
    help: "How long a turn may continue when its actor moves to another host.",
    breaks:
      "Too low: moves cut long turns off, and their callers get an error. Too high: calls to moving actors wait for that long.",
  }),
  failover: choiceOf("cluster.failover", "auto", FAILOVERS, {
    flag: "failover",
    placeholder: "when",
    help: "When the actors of a lost host move. auto: when its lease ends, or at once if its process is known to have ended. lease: always after the lease. fast: as soon as its connection closes.",
    breaks:
      "auto and lease: an unreachable host costs up to the whole lease. fast: a broken connection moves actors with running turns; these turns cannot commit, but their effects outside the store happen.",
  }),

  // ——— Defaults for sharded types; an option of a class overrides them.
  shardingRebalanceThreshold: wholeNumber(
    "sharding.rebalanceThreshold",
    SHARDING.rebalanceThreshold,
    [1, MOST_SHARDS],
    {
      help: 'Shards of a type with the strategy "least" move when the difference between two hosts exceeds this number of shards.',
      breaks:
        "Too low: shards move after small changes. Too high: a new host gets no shards, and other hosts carry the load.",
    },
  ),
  shardingBufferSize: wholeNumber("sharding.bufferSize", SHARDING.bufferSize, [1, 10_000_000], {
    help: "Calls of one sharded type that a process buffers while their shards move or have no home; further calls fail with BUFFER_FULL.",
    breaks: "Too low: calls fail whenever a shard moves. Too high: buffered calls fill the memory of the process.",
  }),
  shardingRetryInterval: duration("sharding.retryInterval", SHARDING.retryInterval, ["10ms"], {
    help: "How often a waiting call checks for the home of its shard, and a host repeats a request to the leader.",
    breaks:
      "Too low: many waiting calls keep the process and the leader busy. Too high: calls wait longer than necessary.",
  }),
  shardingStartTimeout: duration("sharding.startTimeout", SHARDING.startTimeout, ["100ms"], {
    help: "How long a host may take to confirm that it is the home of a shard; then the leader notifies it again.",
    breaks:
      "Too low: a slow host gets many notifications. Too high: remembered actors start that late after a lost notification.",
  }),
  shardingMinHosts: wholeNumber("sharding.minHosts", SHARDING.minHosts, [1, 10_000], {
    help: "Hosts of a sharded type that must join before its first shard gets a home; calls wait until then.",
    breaks:
      "Too low: the first host of a cluster gets all shards, which then move. Too high: calls time out while fewer hosts run.",
  }),

  // ——— The delivery of reminders.
  reminders: yesNo("reminders", true, {
    help: "Deliver reminders of the types of this process. It can set reminders in both cases.",
    breaks: "Off everywhere: reminders stay in the store and never fire.",
  }),
  reminderPollInterval: duration("reminders.pollInterval", "2500ms", ["10ms"], {
    help: "The longest time between two looks for reminders that are due soon.",
    breaks:
      "Too low: many processes keep the store busy with queries. Too high: reminders that another process set for now are late, if the store cannot notify.",
  }),
  reminderFetchAhead: duration("reminders.fetchAhead", "5s", ["10ms"], {
    help: "The process claims reminders that are due within this time, so that they fire on the millisecond.",
    breaks:
      "Too low: reminders are late by a poll. Too high: claimed reminders fill memory, and wait for the lease when the process dies.",
  }),
  reminderBatchSize: wholeNumber("reminders.batchSize", 500, [1, 10_000], {
    help: "Reminders per claim; a process holds at most four times as many.",
    breaks: "Too low: a backlog shrinks slowly. Too high: one process claims reminders that others could share.",
  }),
  reminderLease: duration("reminders.lease", "30s", ["100ms"], {
    help: "How long other processes wait for a claimed reminder when its process dies. A live process renews it.",
    breaks:
      "Too low: a slow process loses its reminders, and they fire twice. Too high: reminders of a dead process are late by this.",
  }),
  reminderConcurrency: wholeNumber("reminders.concurrency", 1_000, [1, 100_000], {
    help: "Deliveries of reminders in progress at once.",
    breaks: "Too low: slow handlers delay the others. Too high: a backlog floods the actors.",
  }),
  reminderDirect: yesNo("reminders.direct", true, {
    help: "The process that sets a reminder which is due soon also delivers it, without another query.",
    breaks:
      "On: work stays in the process that creates it, so it may be spread less evenly. Off: reminders that are due at once take one more round trip.",
  }),

  // ——— The worker of workflows and activities.
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
  workerLease: duration("worker.lease", "30s", ["100ms"], {
    help: "How long other workers wait for a workflow task when its worker dies. A live worker renews it.",
    breaks:
      "Too low: a slow worker loses its tasks, and activities run twice. Too high: tasks of a dead worker are late by this.",
  }),
  workerHttpLease: duration("worker.httpLease", "60s", ["1s", "1d"], {
    help: "How long a worker in another language keeps a workflow task without a heartbeat.",
    breaks:
      "Too low: a slow worker loses its task, and another one repeats it. Too high: tasks of a dead worker are late by this.",
  }),
  workerHttpActivityLease: duration("worker.httpActivityLease", "5m", ["1s", "1d"], {
    help: "How long a worker in another language keeps an activity without a heartbeat. A shorter heartbeat limit of the activity applies instead.",
    breaks:
      "Too low: activities that are silent for longer run twice. Too high: activities of a dead worker are late by this.",
  }),
  workerPollInterval: duration("worker.pollInterval", "1s", ["10ms"], {
    help: "The longest time between two looks for tasks.",
    breaks:
      "Too low: idle workers keep the store busy. Too high: starts and signals of other processes are late, if the store cannot notify.",
  }),
  workerSticky: yesNo("worker.sticky", true, {
    help: "Idle runs stay in memory, and their next task is reserved for the worker that has them.",
    breaks: "Off: every task replays its history. On: a task may wait for its worker for up to worker.stickyTtl.",
  }),
  workerStickyTtl: duration("worker.stickyTtl", "5m", ["1s"], {
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

export type Settings = SettingsOf<typeof OPTIONS>;
export type SettingKey = keyof Settings;

export const SETTING_KEYS = Object.keys(OPTIONS) as readonly SettingKey[];

/** Environment variables of the command line, which are not settings of a process. */
export const OTHER_ENV = ["LIMPET_CONFIG", "LIMPET_URL", "LIMPET_TOKEN", "LIMPET_DEBUG"] as const;

function stickyTypeProblem(type: string): string | undefined {
  if ((STICKY_WORDS as readonly string[]).includes(type)) return "stands in the place of a list and not in one";
  return nameProblem(type, LIMITS.wordBytes);
}
