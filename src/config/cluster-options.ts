// The settings by which processes find each other, authenticate each other and share their actors. All of
// them nest under `cluster` in code and in limpet.yaml, except the list of schedulers. This file only
// declares them.

import type { Duration } from "../kernel/durations.ts";
import { LIMITS } from "../kernel/limits.ts";
import { nameProblem } from "../kernel/names.ts";
import type { Option } from "./option.ts";
import { addressProblem, keyProblem, nameOfHostProblem, reachableProblem } from "./places.ts";

export const FAILOVERS = ["auto", "lease", "fast"] as const;
export type Failover = (typeof FAILOVERS)[number];

/** The values as the program uses them: every value present, durations in milliseconds. */
export interface ClusterValues {
  readonly cluster: boolean;
  /** Empty: the name of the machine. */
  readonly clusterName: string;
  readonly clusterRoles: readonly string[];
  readonly clusterHost: string;
  readonly linkPort: number;
  readonly schedulerPort: number;
  readonly clusterKeys: readonly string[];
  readonly schedulers: readonly string[];
  readonly lease: number;
  readonly leaderLease: number;
  readonly roundTimeout: number;
  readonly coalesce: number;
  readonly replicationFactor: number;
  readonly moveTimeout: number;
  readonly failover: Failover;
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

const MILLISECOND = 1;
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

export const CLUSTER_OPTIONS: { readonly [K in keyof ClusterValues]: Option } = {
  cluster: {
    kind: "yes/no",
    default: true,
    path: "cluster",
    env: "LIMPET_CLUSTER",
    flag: "cluster",
    help: "Processes that share the store form a cluster.",
    breaks:
      "Without it, processes on one store take actors from each other: no state is lost, but calls fail and wait.",
  },
  clusterName: {
    kind: "text",
    default: "",
    path: "cluster.name",
    env: "LIMPET_CLUSTER_NAME",
    flag: "name",
    placeholder: "name",
    help: "The name of this host; the name of the machine by default.",
    breaks: "Only their addresses distinguish hosts of the same name.",
    problem: nameOfHostProblem,
  },
  clusterRoles: {
    kind: "list",
    default: [],
    path: "cluster.roles",
    env: "LIMPET_CLUSTER_ROLES",
    flag: "role",
    placeholder: "name",
    help: "The roles of this host. A sharded type with a role lives only on hosts that have it; others forward calls to them.",
    breaks: "When no host has the role of a type, calls fail with NO_HOST.",
    problem: (text) => nameProblem(text, LIMITS.wordBytes),
  },
  clusterHost: {
    kind: "text",
    default: "127.0.0.1",
    path: "cluster.host",
    env: "LIMPET_CLUSTER_HOST",
    flag: "cluster-host",
    placeholder: "address",
    help: "The address at which other hosts and the scheduler reach this process; it listens there.",
    breaks:
      "With loopback, only processes of this machine form a cluster; any other address needs a key, because other machines can reach it.",
    problem: reachableProblem,
  },
  linkPort: {
    kind: "whole number",
    default: 0,
    path: "cluster.port",
    env: "LIMPET_CLUSTER_PORT",
    flag: "cluster-port",
    placeholder: "number",
    help: "The port at which other hosts call this host; 0 takes any free one.",
    breaks: "A firewall between hosts needs a fixed port; two processes of one machine cannot share it.",
    min: 0,
    max: 65_535,
  },
  schedulerPort: {
    kind: "whole number",
    default: 0,
    path: "cluster.schedulerPort",
    env: "LIMPET_SCHEDULER_PORT",
    flag: "scheduler-port",
    placeholder: "number",
    help: "The port at which hosts reach the scheduler of this process; 0 takes any free one. `limpet scheduler` starts with 7400.",
    breaks: "With 0 the port is not known in advance; two processes of one machine cannot share it.",
    min: 0,
    max: 65_535,
  },
  clusterKeys: {
    kind: "list",
    default: [],
    path: "cluster.keys",
    env: "LIMPET_CLUSTER_KEYS",
    flag: "cluster-key",
    placeholder: "secret",
    help: "A secret that all processes of the cluster share. It encrypts their traffic, and both sides prove that they know it. Several may be valid; the process connects with the first.",
    breaks:
      "With none, processes on loopback prove that they can read the store; processes without a common key cannot connect. Flags show in process lists.",
    secret: true,
    problem: keyProblem,
  },
  schedulers: {
    kind: "list",
    default: [],
    path: "schedulers",
    env: "LIMPET_SCHEDULERS",
    flag: "schedulers",
    placeholder: "host:port",
    help: "The dedicated schedulers to use, instead of finding one through the store.",
    breaks: "While all of them are unreachable, no host can join, and hosts that have joined lose their lease.",
    problem: addressProblem,
  },
  lease: {
    kind: "duration",
    default: "10s",
    path: "cluster.lease",
    env: "LIMPET_CLUSTER_LEASE",
    flag: "lease",
    placeholder: "duration",
    help: "How long a host may be silent before its actors move to other hosts.",
    breaks:
      "Too low: a short pause of a process or of the network moves its actors. Too high: actors of a dead host are unavailable for that long.",
    min: SECOND,
    max: 5 * MINUTE,
  },
  leaderLease: {
    kind: "duration",
    default: "3s",
    path: "cluster.leaderLease",
    env: "LIMPET_CLUSTER_LEADER_LEASE",
    flag: "leader-lease",
    placeholder: "duration",
    help: "How long the leader may be silent before another scheduler leads.",
    breaks:
      "Too low: the leader changes with every short delay of the store. Too high: hosts lose their lease before a scheduler leads again.",
    min: 300 * MILLISECOND,
  },
  roundTimeout: {
    kind: "duration",
    default: "8s",
    path: "cluster.roundTimeout",
    env: "LIMPET_CLUSTER_ROUND_TIMEOUT",
    flag: "round-timeout",
    placeholder: "duration",
    help: "How long a host may take to confirm a change of a type's hosts.",
    breaks: "Too low: the leader excludes a slow host. Too high: a host that hangs delays the change for that long.",
    min: MILLISECOND,
  },
  coalesce: {
    kind: "duration",
    default: "0ms",
    path: "cluster.coalesce",
    env: "LIMPET_CLUSTER_COALESCE",
    flag: "coalesce",
    placeholder: "duration",
    help: "How long the leader collects joins and leaves before actors move.",
    breaks:
      "Too low: hosts that start one after another move actors each time. Too high: a new host waits for its actors for that long.",
    min: 0,
  },
  replicationFactor: {
    kind: "whole number",
    default: 100,
    path: "cluster.replicationFactor",
    env: "LIMPET_CLUSTER_REPLICATION_FACTOR",
    flag: "replication-factor",
    placeholder: "number",
    help: "Points of each host on the ring of a type; the value of the leader applies.",
    breaks:
      "Too low: some hosts get many more actors than others. Too high: every change of hosts costs more time and memory.",
    min: 1,
    max: 1_000,
  },
  moveTimeout: {
    kind: "duration",
    default: "2s",
    path: "cluster.moveTimeout",
    env: "LIMPET_CLUSTER_MOVE_TIMEOUT",
    flag: "move-timeout",
    placeholder: "duration",
    help: "How long a turn may continue when its actor moves to another host.",
    breaks:
      "Too low: moves cut long turns off, and their callers get an error. Too high: calls to moving actors wait for that long.",
    min: MILLISECOND,
  },
  failover: {
    kind: "text",
    default: "auto",
    path: "cluster.failover",
    env: "LIMPET_CLUSTER_FAILOVER",
    flag: "failover",
    placeholder: "when",
    help: "When the actors of a lost host move. auto: when its lease ends, or at once if its process is known to have ended. lease: always after the lease. fast: as soon as its connection closes.",
    breaks:
      "auto and lease: an unreachable host costs up to the whole lease. fast: a broken connection moves actors with running turns; these turns cannot commit, but their effects outside the store happen.",
    choices: FAILOVERS,
  },
};
