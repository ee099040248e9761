// What several checkers share: names, times, and looking at something now and then.
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

/** Where its actors live is a matter of tables alone. */
export const followsRing = (plan: Plan, type: string): boolean => !isSticky(plan, type) && !isSharded(plan, type);

/** The shard of an actor, by namespace and type; undefined: it lives in none. */
export function shardKeyOf({ sharded }: Plan, { namespace, type, id }: ActorKey): string | undefined {
  const rule = sharded?.[type];
  return rule === undefined ? undefined : shardKey(namespace, type, shardIn(rule, id));
}

/** It has the role that the type asks for, if it asks for one. Whoever has not may have the class, and never runs one of its actors. */
export function hasRole({ sharded }: Plan, { roles = [] }: Pick<PlannedHost, "roles">, type: string): boolean {
  const role = sharded?.[type]?.role;
  return role === undefined || roles.includes(role);
}

/** It runs actors of the type, as far as it has the type now. */
export const isHostOf = (
  plan: Plan,
  { planned, types }: { readonly planned: PlannedHost; readonly types: readonly string[] },
  type: string,
): boolean => types.includes(type) && hasRole(plan, planned, type);

export const shardKey = (namespace: string, type: string, shard: number): string =>
  `${namespace}/${type} shard ${shard}`;

export const isStateful = (type: string): boolean => type !== PLAIN;

/** For people: `Ledger/actor-1`. */
export const labelOf = ({ type, id }: { readonly type: string; readonly id: string }): string => `${type}/${id}`;

/** What a host says of itself before it gives up all it has. */
export const ENDINGS: ReadonlySet<string> = new Set([
  "the lease is over; every actor here is let go",
  "this host was removed from the cluster",
]);

/** How much longer than their mean messages may take that wait for each other. */
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

/** For `stepped`: looks when so much virtual time has passed since the last look. */
export function every(stage: Stage, ms: number, look: () => void): () => void {
  let next = 0;
  return () => {
    if (stage.now < next) return;
    next = stage.now + ms;
    look();
  };
}

/** Until when what a line of the story tells of goes on; undefined: it tells of no trouble. Delays of messages add up. */
export function troubleEnds({ at, event, fields }: StoryLine): number | undefined {
  if (!event.startsWith("⚡")) return undefined;
  let ends = at;
  // Some come many times in a row.
  const count = typeof fields?.count === "number" ? fields.count : 1;
  for (const [name, value] of Object.entries(fields ?? {})) {
    // How far a clock is set says nothing about how long.
    if (typeof value === "number" && /ms$/i.test(name) && name !== "byMs")
      ends += name === "delayMs" ? value * MOST_DELAYS : value * count;
  }
  return ends;
}

/** A process as its doors see it; undefined while it is not up. */
export const doorOf = (process: Process): Host | undefined => (process.hasEnded ? undefined : process.app?.host);

/** Everybody who is up, with the namespace they belong to. */
export function* upHosts(stage: Stage): Generator<{ namespace: string; process: Process; door: Host }> {
  for (const { planned, host } of stage.players) {
    const { process } = host;
    const door = process && doorOf(process);
    if (door !== undefined) yield { namespace: planned.namespace, process: process!, door };
  }
}
