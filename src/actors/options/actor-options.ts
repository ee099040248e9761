// What a class of actors may say about itself in `static options`. Everything is checked when the class is registered.

import type { Duration } from "../../kernel/durations.ts";
import { parseDuration } from "../../kernel/durations.ts";
import { LimpetError } from "../../kernel/errors.ts";
import { checkType, JOB_MARK } from "../../kernel/names.ts";
import {
  isSharded,
  type ResolvedSharded,
  resolveSharded,
  type ShardedPlacement,
  type ShardingDefaults,
} from "./sharded-options.ts";
import type { Placement, ResolvedSticky, StickyTypes } from "./sticky-options.ts";
import { resolveSticky } from "./sticky-options.ts";

export interface ActorOptions {
  /** The type's name in calls and in the store; the name of the class unless given. Set it if a bundler renames classes. */
  readonly name?: string;
  /** Without a call for this long an actor leaves memory. Too low: it is read from the store again and again. */
  readonly idleTimeout?: Duration;
  /** How long a caller waits. Too low: slow turns look failed. Too high: a stuck one holds its callers that long. */
  readonly callTimeout?: Duration;
  /** Calls that may wait for one actor. Too low: bursts are refused. Too high: callers wait for what nobody wants any more. */
  readonly mailboxLimit?: number;
  /** May a call that this actor's own running turn caused come back to it? If so it runs inside that turn. */
  readonly reentrant?: boolean;
  /**
   * Which host of a cluster an actor lives on. `"hash"`, unless given: its id says so, and some actors move when hosts join.
   * `"sticky"`: the one on which it came to life, as long as that host lives. `sticky({ … })`: that, and what happens when the host
   * is lost or full. The setting `sticky` outweighs it. `sharded({ … })`: it lives in a shard, a group of actors that moves as a whole.
   */
  readonly placement?: Placement | ShardedPlacement;
}

/** The host's answers where a class says nothing. */
export interface ActorDefaults {
  readonly idleTimeoutMs: number;
  readonly callTimeoutMs: number;
  readonly mailboxLimit: number;
  /** Outweighs what a class says; left out, the class decides. */
  readonly sticky?: StickyTypes | undefined;
  /** Of sharded types. */
  readonly sharding?: ShardingDefaults | undefined;
}

export interface ResolvedOptions extends Omit<ActorDefaults, "sticky" | "sharding"> {
  readonly name: string;
  readonly reentrant: boolean;
  /** Undefined: actors of the type follow the ring. */
  readonly sticky: ResolvedSticky | undefined;
  /** They live in shards. */
  readonly sharded: ResolvedSharded | undefined;
}

const KNOWN = new Set(["name", "idleTimeout", "callTimeout", "mailboxLimit", "reentrant", "placement"]);

export function resolveOptions(className: string, options: ActorOptions, defaults: ActorDefaults): ResolvedOptions {
  const where = `${className}.options`;
  for (const key of Object.keys(options)) {
    if (!KNOWN.has(key)) {
      throw new LimpetError("OPTION_INVALID", `${where}: unknown option "${key}"; known are ${[...KNOWN].join(", ")}`);
    }
  }
  const name = options.name ?? className;
  checkType(name);
  if (name.startsWith(JOB_MARK)) {
    throw new LimpetError(
      "OPTION_INVALID",
      `${where}.name must not begin with "${JOB_MARK}", which is how jobs are told apart`,
    );
  }
  const { mailboxLimit = defaults.mailboxLimit, reentrant = false } = options;
  if (!Number.isInteger(mailboxLimit) || mailboxLimit < 1) {
    throw new LimpetError("OPTION_INVALID", `${where}.mailboxLimit must be a whole number of at least 1`);
  }
  if (typeof reentrant !== "boolean")
    throw new LimpetError("OPTION_INVALID", `${where}.reentrant must be true or false`);
  return {
    name,
    reentrant,
    mailboxLimit,
    idleTimeoutMs: duration(options.idleTimeout, defaults.idleTimeoutMs, `${where}.idleTimeout`),
    callTimeoutMs: duration(options.callTimeout, defaults.callTimeoutMs, `${where}.callTimeout`),
    ...readPlacement(name, options.placement, `${where}.placement`, defaults),
  };
}

/** A type is one or the other: the setting `sticky` says nothing of those that live in shards. */
function readPlacement(
  name: string,
  placement: ActorOptions["placement"],
  where: string,
  { sticky, sharding }: Pick<ActorDefaults, "sticky" | "sharding">,
): Pick<ResolvedOptions, "sticky" | "sharded"> {
  if (isSharded(placement)) return { sticky: undefined, sharded: resolveSharded(placement, where, sharding) };
  return { sticky: resolveSticky(name, placement, where, sticky), sharded: undefined };
}

function duration(given: Duration | undefined, fallback: number, what: string): number {
  if (given === undefined) return fallback;
  const ms = parseDuration(given, what);
  if (ms === 0) throw new LimpetError("OPTION_INVALID", `${what} must be longer than nothing`);
  return ms;
}
