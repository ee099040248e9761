// Options that a class of actors declares in `static options`. All of them are checked when the class is
// registered.
import { type Duration, parseDuration } from "../../kernel/durations.ts";
import { LimpetError } from "../../kernel/errors.ts";
import { checkType, JOB_MARK } from "../../kernel/names.ts";
import type { ResolvedSticky } from "../../ports/actor-host.ts";
import {
  isSharded,
  type ResolvedSharded,
  resolveSharded,
  type ShardedPlacement,
  type ShardingDefaults,
} from "./sharded-options.ts";
import { type PlacementOption, resolveSticky, type StickySetting } from "./sticky-options.ts";

export interface ActorOptions {
  /**
   * Name of the type in calls and in the store; by default the name of the class. Set it if a bundler renames
   * classes.
   */
  readonly name?: string;
  /**
   * An actor without a call for this long leaves memory. Too low: hosts read it from the store again and
   * again.
   */
  readonly idleTimeout?: Duration;
  /**
   * How long a caller waits for an answer. Too low: slow turns look failed. Too high: a stuck turn blocks its
   * callers.
   */
  readonly callTimeout?: Duration;
  /**
   * Calls that may wait for one actor. Too low: bursts are rejected. Too high: calls wait until they time
   * out.
   */
  readonly mailboxLimit?: number;
  /**
   * True: a call that the actor's own running turn caused runs inside that turn. False: such a call fails
   * with CALL_CYCLE.
   */
  readonly reentrant?: boolean;
  /**
   * How the cluster chooses the host of an actor. `"hash"`, the default: by the hash of its id; some actors
   * move when hosts join. `"sticky"`: the host that activated it first, while that host lives. `sticky({ …
   * })`: the same, with rules for hosts that are lost or full. The setting `sticky` outweighs the class.
   * `sharded({ … })`: the actor belongs to a shard, a group of actors that moves as a whole.
   */
  readonly placement?: PlacementOption | ShardedPlacement;
}

/** The host's values for options that a class leaves out. */
export interface ActorDefaults {
  readonly idleTimeoutMs: number;
  readonly callTimeoutMs: number;
  readonly mailboxLimit: number;
  /** Outweighs the class; left out, the class decides. */
  readonly sticky?: StickySetting;
  /** Defaults for sharded types. */
  readonly sharding?: ShardingDefaults;
}

export interface ResolvedOptions extends Omit<ActorDefaults, "sticky" | "sharding"> {
  readonly name: string;
  readonly reentrant: boolean;
  /** Undefined: the ring places actors of the type. */
  readonly sticky: ResolvedSticky | undefined;
  /** Undefined: actors of the type do not live in shards. */
  readonly sharded: ResolvedSharded | undefined;
}

const KNOWN = new Set(["name", "idleTimeout", "callTimeout", "mailboxLimit", "reentrant", "placement"]);

export function resolveOptions(className: string, options: ActorOptions, defaults: ActorDefaults): ResolvedOptions {
  const where = `${className}.options`;
  for (const key of Object.keys(options)) {
    if (!KNOWN.has(key)) {
      throw new LimpetError(
        "OPTION_INVALID",
        `${where}: unknown option "${key}"; known options are ${[...KNOWN].join(", ")}`,
      );
    }
  }
  const name = options.name ?? className;
  checkType(name);
  if (name.startsWith(JOB_MARK)) {
    throw new LimpetError(
      "OPTION_INVALID",
      `${where}.name must not begin with "${JOB_MARK}", which is reserved for jobs; got ${JSON.stringify(name)}`,
    );
  }
  const { mailboxLimit = defaults.mailboxLimit, reentrant = false } = options;
  if (!Number.isInteger(mailboxLimit) || mailboxLimit < 1) {
    throw new LimpetError(
      "OPTION_INVALID",
      `${where}.mailboxLimit must be a whole number of at least 1; got ${String(mailboxLimit)}`,
    );
  }
  if (typeof reentrant !== "boolean")
    throw new LimpetError("OPTION_INVALID", `${where}.reentrant must be true or false; got ${String(reentrant)}`);
  return {
    name,
    reentrant,
    mailboxLimit,
    idleTimeoutMs: duration(options.idleTimeout, defaults.idleTimeoutMs, `${where}.idleTimeout`),
    callTimeoutMs: duration(options.callTimeout, defaults.callTimeoutMs, `${where}.callTimeout`),
    ...readPlacement(name, options.placement, `${where}.placement`, defaults),
  };
}

/** A type is sticky or sharded, never both: the setting `sticky` does not apply to sharded types. */
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
  if (ms === 0) throw new LimpetError("OPTION_INVALID", `${what} must be longer than 0`);
  return ms;
}

/**
 * Class names that a bundler made up. One or two characters; or three, with a digit or a sign among them; or
 * a leading underscore, which bundlers put before a name. Under a new name the actors of a class start from
 * nothing, because it is the name of their type in the store.
 */
const MINIFIED = /^(?:[\p{L}_$][\p{L}\p{N}_$]?|(?=.*[\d_$])[\p{L}\p{N}_$]{3}|_\p{Lu}.*)$/u;

export function looksMinified(actorClass: {
  readonly name: string;
  readonly options?: { readonly name?: string };
}): boolean {
  return actorClass.options?.name === undefined && MINIFIED.test(actorClass.name);
}

export const MINIFIED_ADVICE =
  "a bundler seems to have renamed the class, and so its actors in the store; set static options = { name: … }";
