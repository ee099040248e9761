// Options of sharded types: how their actors are grouped into shards, and how shards spread over hosts. All
// options are checked when the class is registered.
import { checkWhole, invalidOption, showValue } from "../../kernel/check.ts";
import type { Duration } from "../../kernel/durations.ts";
import { parseDuration } from "../../kernel/durations.ts";
import { LIMITS } from "../../kernel/limits.ts";
import { nameProblem } from "../../kernel/names.ts";
import { didYouMean } from "../../kernel/nearest.ts";
import type { ShardStrategy } from "../../kernel/shard-strategy.ts";
import { SHARDING, type ShardedRule, type StrategyRule } from "../../kernel/sharded-rule.ts";
import { DEFAULT_SHARDS, MOST_SHARDS, shardOf } from "../../kernel/shards.ts";
import type { CallBufferOptions, ShardedTypeOptions } from "../../ports/actor-host.ts";
import type { MessageId } from "../message-id.ts";
import { LIFETIME_KEYS, type Lifetime, type LifetimeOptions, resolveLifetime } from "./lifetime-options.ts";
import { ownExtractor } from "./shard-extractor.ts";

/** Everything is optional: `sharded()` spreads 1,000 shards evenly. */
export interface ShardedOptions extends LifetimeOptions {
  /**
   * Number of shards: about ten times the highest number of hosts. Too few: some hosts get none. Too many:
   * the first call to each shard requests its home from the leader. It must be equal on all hosts, and cannot
   * change while a host runs.
   */
  readonly shards?: number;
  /**
   * Maps an id to its shard: any text or number, always the same for the same id. By default its hash.
   * `version` names this function, and must change whenever its result does.
   */
  readonly shardOf?: (id: string) => string | number;
  readonly version?: string;
  /**
   * Maps a message that was sent to the whole type, by `app.region()` or over HTTP, to an actor. It returns
   * an id; or `{ id, message }`, if the actor gets another message. By default messages are envelopes with
   * both.
   */
  readonly messageId?: MessageId;
  /**
   * Only hosts with this role run actors of the type; other hosts with the class forward calls. By default
   * all hosts do.
   */
  readonly role?: string;
  /**
   * `"least"`, the default: a shard goes to the host with the fewest, and some move when hosts join.
   * `"hashed"`: shards with equal numbers live on the same host, for all types. `"external"`: the application
   * assigns shards to hosts by name; see `app.shards()`. Or a custom strategy: every host of the type
   * provides it, and the leader asks one of them. `"told"` is the deprecated word for `"external"`.
   */
  readonly strategy?: "least" | "hashed" | "external" | "told" | ShardStrategy;
  /** For `"least"`: the most shards that move in one round, as a number and as a share of all shards. */
  readonly absoluteLimit?: number;
  readonly relativeLimit?: number;
  /**
   * For `"least"`: shards move for balance when the difference between two hosts exceeds this number. Too
   * high: a new host gets none. By default the setting `sharding.rebalanceThreshold`, which is 1.
   */
  readonly rebalanceThreshold?: number;
  /**
   * Calls that one process buffers while shards of the type move or have no home; further calls fail with
   * BUFFER_FULL. By default the setting `sharding.bufferSize`, which is 10,000.
   */
  readonly bufferSize?: number;
  /**
   * How often a call that waits for the home of its shard checks again, and a request to the leader is
   * repeated. By default the setting `sharding.retryInterval`, which is 1 s.
   */
  readonly retryInterval?: Duration;
  /**
   * How long a host may take to confirm that it is the home of a shard; then the leader notifies it again. By
   * default the setting `sharding.startTimeout`, which is 10 s.
   */
  readonly startTimeout?: Duration;
  /**
   * Hosts of the type that must have joined before its first shard gets a home. Too low: the first host gets
   * all shards, which then move. By default the setting `sharding.minHosts`, which is 1.
   */
  readonly minHosts?: number;
  /**
   * Shards that move at the same time. Too high: many actors wait at once. Too low: a new host gets its share
   * late.
   */
  readonly movesAtOnce?: number;
  /** Interval between rounds of rebalancing. */
  readonly rebalance?: Duration;
  /** How long actors of a moving shard may take to end their turns; longer turns are cancelled. */
  readonly handOff?: Duration;
}

/** The result of `sharded()`. */
export interface ShardedPlacement extends ShardedOptions {
  readonly kind: "sharded";
  /** Number of actors that always run; set by `daemons()` and `singleton()`. */
  readonly daemons?: () => number;
}

/** The host's defaults for options that a class leaves out. */
export interface ShardingDefaults extends CallBufferOptions {
  readonly rebalanceThreshold: number;
  readonly startMs: number;
  readonly minHosts: number;
}

export const SHARDING_DEFAULTS: ShardingDefaults = {
  ...SHARDING,
  retryMs: parseDuration(SHARDING.retryInterval, "sharding.retryInterval"),
  startMs: parseDuration(SHARDING.startTimeout, "sharding.startTimeout"),
};

export interface ResolvedSharded extends Lifetime, ShardedTypeOptions {
  /** Version of the function that maps ids to shards. */
  readonly version: string;
  readonly messageId: MessageId | undefined;
  /** The class uses a deprecated word: fields of the log event `option.deprecated`. */
  readonly deprecated: { readonly option: string; readonly value: string; readonly use: string } | undefined;
}

/**
 * For `static options`: actors of this class live in shards, which move between hosts as a whole. `placement:
 * sharded({ shards: 200 })`.
 */
export function sharded(options: ShardedOptions = {}): ShardedPlacement {
  if (typeof options !== "object" || options === null) {
    throw invalidOption("sharded() takes an object, such as sharded({ shards: 200 })");
  }
  return Object.freeze({ ...options, kind: "sharded" });
}

export const isSharded = (placement: unknown): placement is ShardedPlacement =>
  (placement as Partial<ShardedPlacement> | undefined)?.kind === "sharded";

const KEYS = [
  ...["shards", "shardOf", "version", "strategy", "absoluteLimit", "relativeLimit", "movesAtOnce", "rebalance"],
  ...["handOff", "rebalanceThreshold", "bufferSize", "retryInterval", "startTimeout", "minHosts"],
  ...["messageId", "role", ...LIFETIME_KEYS],
];
const MOST_HOSTS = 10_000;
const MOST_BUFFERED = 10_000_000;
/** Strategies besides "least", which is the only one with limits of its own. */
const STRATEGIES = ["hashed", "external"] as const;
/** The word of release 0.1 for "external"; accepted for one release. */
const OLD_EXTERNAL = "told";

/** `where` names the place of the option in error messages. */
export function resolveSharded(
  placement: ShardedPlacement,
  where: string,
  defaults: ShardingDefaults = SHARDING_DEFAULTS,
): ResolvedSharded {
  for (const key of Object.keys(placement)) {
    if (key === "kind" || key === "daemons" || KEYS.includes(key)) continue;
    const rest = didYouMean(key, KEYS) || `; known are ${KEYS.join(", ")}`;
    throw invalidOption(`${where}: sharded() has no option "${key}"${rest}`);
  }
  const shards = whole(placement.shards, DEFAULT_SHARDS, MOST_SHARDS, `${where}.shards`);
  const rule: ShardedRule = {
    shards,
    ownShards: placement.shardOf !== undefined,
    strategy: readStrategy(placement, where, defaults.rebalanceThreshold),
    movesAtOnce: whole(placement.movesAtOnce, 5, MOST_SHARDS, `${where}.movesAtOnce`),
    rebalanceMs: duration(placement.rebalance, 10_000, `${where}.rebalance`),
    handOffMs: duration(placement.handOff, 10_000, `${where}.handOff`),
    startMs: duration(placement.startTimeout, defaults.startMs, `${where}.startTimeout`),
    minHosts: whole(placement.minHosts, defaults.minHosts, MOST_HOSTS, `${where}.minHosts`),
  };
  const bufferSize = whole(placement.bufferSize, defaults.bufferSize, MOST_BUFFERED, `${where}.bufferSize`);
  const retryMs = duration(placement.retryInterval, defaults.retryMs, `${where}.retryInterval`);
  const strategy = typeof placement.strategy === "object" ? placement.strategy : undefined;
  const { messageId, role } = placement;
  if (messageId !== undefined && typeof messageId !== "function")
    throw invalidOption(`${where}.messageId must be a function from a message to an id`);
  if (role !== undefined) checkRole(role, where);
  const { remembered, maxActive } = resolveLifetime(placement, where);
  const { daemons } = placement;
  if (daemons !== undefined && (remembered === undefined || typeof daemons !== "function"))
    throw invalidOption(`${where}.daemons is made by daemons(Type, n) and cannot be set`);
  const lifetime = {
    maxActive,
    remembered: daemons === undefined ? remembered : { ...remembered!, daemons },
  };
  const deprecated =
    placement.strategy === OLD_EXTERNAL
      ? { option: `${where}.strategy`, value: OLD_EXTERNAL, use: "external" }
      : undefined;
  const own = { rule, strategy, bufferSize, retryMs, messageId, role, deprecated };
  return { ...own, ...readExtractor(placement, shards, where), ...lifetime };
}

/**
 * A role must be a name that a host can have: settings list roles with commas, and trim the spaces around
 * them.
 */
function checkRole(role: unknown, where: string): void {
  const problem = nameProblem(role, LIMITS.wordBytes);
  if (problem !== undefined) throw invalidOption(`${where}.role ${problem}`);
  const name = role as string;
  if (name !== name.trim() || name.includes(",")) {
    throw invalidOption(
      `${where}.role must be one name, without commas and without spaces around it; got ${showValue(name)}`,
    );
  }
}

function readStrategy(options: ShardedOptions, where: string, defaultThreshold: number): StrategyRule {
  const { strategy = "least", absoluteLimit, relativeLimit, rebalanceThreshold } = options;
  if (strategy === "least") {
    const share = relativeLimit ?? 0.1;
    if (!(typeof share === "number" && share >= 0 && share <= 1)) {
      throw invalidOption(`${where}.relativeLimit must be a share from 0 to 1; got ${showValue(share)}`);
    }
    return {
      kind: "least",
      absoluteLimit: whole(absoluteLimit, 100, MOST_SHARDS, `${where}.absoluteLimit`),
      relativeLimit: share,
      threshold: whole(rebalanceThreshold, defaultThreshold, MOST_SHARDS, `${where}.rebalanceThreshold`),
    };
  }
  const rule = readOther(strategy, where);
  for (const key of ["absoluteLimit", "relativeLimit", "rebalanceThreshold"] as const) {
    if (options[key] === undefined) continue;
    throw invalidOption(`${where}.${key} applies to the strategy "least" only; movesAtOnce limits the others`);
  }
  return rule;
}

function readOther(strategy: unknown, where: string): StrategyRule {
  if (typeof strategy === "object" && strategy !== null) return readCustom(strategy as ShardStrategy, where);
  if (strategy === OLD_EXTERNAL) return { kind: "external" };
  const kind = STRATEGIES.find((known) => known === strategy);
  if (kind !== undefined) return { kind };
  const known = ["least", ...STRATEGIES];
  const hint = didYouMean(String(strategy), known);
  throw invalidOption(
    `${where}.strategy must be one of ${known.join(", ")}, or an object; got ${String(strategy)}${hint}`,
  );
}
/** Checks that the methods exist; their results are checked with every call. */
function readCustom({ home, moves }: ShardStrategy, where: string): StrategyRule {
  if (typeof home !== "function") throw invalidOption(`${where}.strategy must have a method home(shard, hosts, asker)`);
  if (moves !== undefined && typeof moves !== "function") {
    throw invalidOption(`${where}.strategy.moves must be a method moves(hosts, moving)`);
  }
  return { kind: "custom" };
}

function readExtractor(
  { shardOf: own, version }: ShardedOptions,
  shards: number,
  where: string,
): Pick<ResolvedSharded, "version" | "shardOf"> {
  if (own === undefined) {
    if (version !== undefined)
      throw invalidOption(`${where}.version applies to shardOf only; set shardOf as well, or remove it`);
    return { version: "hash", shardOf: (id) => shardOf(id, shards) };
  }
  if (typeof own !== "function")
    throw invalidOption(`${where}.shardOf must be a function from an id to a text or number`);
  if (typeof version !== "string" || version === "") {
    throw invalidOption(`${where}.version must name the version of shardOf and change with it, as in version: "1"`);
  }
  // The version is stored, and compared with the version of other hosts.
  if (!version.isWellFormed() || /\p{Cc}/u.test(version) || Buffer.byteLength(version) > LIMITS.wordBytes) {
    const most = `at most ${LIMITS.wordBytes} bytes, without control characters`;
    throw invalidOption(`${where}.version must be a text of ${most}; got ${showValue(version.slice(0, 40))}`);
  }
  return {
    version: `own ${version}`,
    shardOf: ownExtractor(own, shards, where),
  };
}

function whole(value: unknown, fallback: number, most: number, where: string): number {
  if (value === undefined) return fallback;
  checkWhole(value, most, where);
  return value;
}

function duration(given: Duration | undefined, fallback: number, where: string): number {
  if (given === undefined) return fallback;
  const ms = parseDuration(given, where);
  if (ms > 0) return ms;
  throw invalidOption(`${where} must be longer than 0`);
}
