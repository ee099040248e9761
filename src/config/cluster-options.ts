// The settings by which processes find each other, authenticate each other and share their actors. All of
// them nest under `cluster` in code and in limpet.yaml, except the list of schedulers. This file only
// declares them.

import type { Duration } from "../kernel/durations.ts";
import { LIMITS } from "../kernel/limits.ts";
import { nameProblem } from "../kernel/names.ts";
import { choiceOf, duration, freeText, textList, wholeNumber, yesNo } from "./option.ts";
import { addressProblem, keyProblem, nameOfHostProblem, reachableProblem } from "./places.ts";

export const FAILOVERS = ["auto", "lease", "fast"] as const;
export type Failover = (typeof FAILOVERS)[number];

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

const MILLISECOND = 1;
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

export const CLUSTER_OPTIONS = {
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
  lease: duration("cluster.lease", "10s", [SECOND, 5 * MINUTE], {
    flag: "lease",
    help: "How long a host may be silent before its actors move to other hosts.",
    breaks:
      "Too low: a short pause of a process or of the network moves its actors. Too high: actors of a dead host are unavailable for that long.",
  }),
  leaderLease: duration("cluster.leaderLease", "3s", [300 * MILLISECOND], {
    flag: "leader-lease",
    help: "How long the leader may be silent before another scheduler leads.",
    breaks:
      "Too low: the leader changes with every short delay of the store. Too high: hosts lose their lease before a scheduler leads again.",
  }),
  roundTimeout: duration("cluster.roundTimeout", "8s", [MILLISECOND], {
    flag: "round-timeout",
    help: "How long a host may take to confirm a change of a type's hosts.",
    breaks: "Too low: the leader excludes a slow host. Too high: a host that hangs delays the change for that long.",
  }),
  coalesce: duration("cluster.coalesce", "0ms", [0], {
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
  moveTimeout: duration("cluster.moveTimeout", "2s", [MILLISECOND], {
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
};
