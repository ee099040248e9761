// Helpers shared by several checkers: names, times, and periodic checks.
import { parseDuration } from "../../src/kernel/durations.ts";
import type { ActorKey } from "../../src/kernel/names.ts";
import type { Host } from "../../src/ports/host-admin.ts";
import type { Process } from "../../src/world/process.ts";
import type { StoryLine } from "../../src/world/story.ts";
import { PLAIN } from "../application.ts";
import type { Plan, PlannedHost } from "../plan.ts";
import { shardIn } from "../shard-extractors.ts";
import type { Stage } from "../stage.ts";

export const nameOf = ({ namespace, type, id }: ActorKey): string => `${namespace}/${type}/${id}`;

export const isSticky = ({ sticky }: Plan, type: string): boolean => sticky?.[type] !== undefined;

export const isSharded = ({ sharded }: Plan, type: string): boolean => sharded?.[type] !== undefined;

/** True if only tables determine the owners of its actors. */
export const followsRing = (plan: Plan, type: string): boolean => !isSticky(plan, type) && !isSharded(plan, type);

/** The shard of an actor, by namespace and type; undefined for types without shards. */
export function shardKeyOf({ sharded }: Plan, { namespace, type, id }: ActorKey): string | undefined {
  const rule = sharded?.[type];
  return rule === undefined ? undefined : shardKey(namespace, type, shardIn(rule, id));
}

/**
 * True if the host has the role of the type, if there is one. A host without it may have the class, and never
 * runs its actors.
 */
export function hasRole({ sharded }: Plan, { roles = [] }: Pick<PlannedHost, "roles">, type: string): boolean {
  const role = sharded?.[type]?.role;
  return role === undefined || roles.includes(role);
}

/** True if the host runs actors of the type, while it has the type. */
export const isHostOf = (
  plan: Plan,
  { planned, types }: { readonly planned: PlannedHost; readonly types: readonly string[] },
  type: string,
): boolean => types.includes(type) && hasRole(plan, planned, type);

export const shardKey = (namespace: string, type: string, shard: number): string =>
  `${namespace}/${type} shard ${shard}`;

export const isStateful = (type: string): boolean => type !== PLAIN;

/** For display: `Ledger/actor-1`. */
export const labelOf = ({ type, id }: { readonly type: string; readonly id: string }): string => `${type}/${id}`;

/** Log events of a host before it gives up all its actors. */
export const ENDINGS: ReadonlySet<string> = new Set(["lease.lost", "membership.removed"]);

/** Longest delay of a series of dependent messages, as a multiple of the mean. */
const MOST_DELAYS = 6;

export interface Times {
  readonly leaseMs: number;
  readonly leaderLeaseMs: number;
  readonly roundTimeoutMs: number;
  readonly moveTimeoutMs: number;
  readonly failover: string;
}

export function timesOf({ settings }: Plan): Times {
  const {
    lease = "10s",
    leaderLease = "3s",
    roundTimeout = "8s",
    moveTimeout = "2s",
    failover = "auto",
  } = typeof settings.cluster === "object" ? settings.cluster : {};
  return {
    leaseMs: parseDuration(lease, "lease"),
    leaderLeaseMs: parseDuration(leaderLease, "leaderLease"),
    roundTimeoutMs: parseDuration(roundTimeout, "roundTimeout"),
    moveTimeoutMs: parseDuration(moveTimeout, "moveTimeout"),
    failover,
  };
}

/** For `stepped`: calls `look` whenever this much virtual time has passed. */
export function every(stage: Stage, ms: number, look: () => void): () => void {
  let next = 0;
  return () => {
    if (stage.now < next) return;
    next = stage.now + ms;
    look();
  };
}

/**
 * End of the fault that a line of the story reports; undefined if it reports none. Delays of messages add up.
 */
export function troubleEnds({ at, event, fields }: StoryLine): number | undefined {
  if (!event.startsWith("⚡")) return undefined;
  let ends = at;
  // Some faults repeat many times in a row.
  const count = typeof fields?.count === "number" ? fields.count : 1;
  for (const [name, value] of Object.entries(fields ?? {})) {
    // The amount of a clock change is not a duration.
    if (typeof value === "number" && /ms$/i.test(name) && name !== "byMs")
      ends += name === "delayMs" ? value * MOST_DELAYS : value * count;
  }
  return ends;
}

/** The running host of a process; undefined while it is not up. */
export const hostOf = (process: Process): Host | undefined => (process.hasEnded ? undefined : process.app?.host);

/** All running hosts with their namespaces. */
export function* upHosts(stage: Stage): Generator<{ namespace: string; process: Process; host: Host }> {
  for (const { planned, host } of stage.players) {
    const { process } = host;
    const running = process && hostOf(process);
    if (running !== undefined) yield { namespace: planned.namespace, process: process!, host: running };
  }
}
