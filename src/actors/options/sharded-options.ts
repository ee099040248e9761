// How a class says that its actors live in shards, and how those are spread over hosts. Everything is checked when the class is registered.
import type { Duration } from "../../kernel/durations.ts";
import { parseDuration } from "../../kernel/durations.ts";
import { LimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import { nameProblem } from "../../kernel/names.ts";
import { didYouMean } from "../../kernel/nearest.ts";
import type { ShardStrategy } from "../../kernel/shard-strategy.ts";
import { SHARDING, type ShardedRule, type StrategyRule } from "../../kernel/sharded-rule.ts";
import { DEFAULT_SHARDS, MOST_SHARDS, shardOf } from "../../kernel/shards.ts";
import type { MessageId } from "../message-id.ts";
import { LIFETIME_KEYS, type Lifetime, type LifetimeOptions, resolveLifetime } from "./lifetime-options.ts";
import { ownExtractor } from "./shard-extractor.ts";

/** Everything is optional: `sharded()` spreads 1,000 shards evenly. */
export interface ShardedOptions extends LifetimeOptions {
  /**
   * How many shards there are: about ten times as many as there will ever be hosts. Too few: some hosts have nothing to do. Too many: each
   * first call has to ask where its shard lives. Every host has to say the same, and it cannot be changed while one runs.
   */
  readonly shards?: number | undefined;
  /**
   * Which shard an actor belongs to, from its id: any text or number, always the same for the same id. Unless given, its hash. What it
   * depends on is named by `version`, which has to change whenever it does.
   */
  readonly shardOf?: ((id: string) => string | number) | undefined;
  readonly version?: string | undefined;
  /**
   * For whom a message is that was sent to the type as a whole, by `app.region()` or over HTTP: an id; or `{ id, message }`, if the actor
   * shall get something else than the message itself. Unless given, such messages are envelopes, which say both.
   */
  readonly messageId?: MessageId | undefined;
  /** Only hosts with this role run actors of the type; others that have the class send calls there. Unless given, all of them do. */
  readonly role?: string | undefined;
  /**
   * `"least"`, unless given: each shard goes to the host with the fewest, and some move when hosts come. `"hashed"`: shards of the same
   * number live on the same host, whatever their type. `"told"`: where the application says, by the names of hosts; see `app.shards()`.
   * Or a strategy of your own: every host of the type brings it, and one of them is asked.
   */
  readonly strategy?: "least" | "hashed" | "told" | ShardStrategy | undefined;
  /** For `"least"`: shards that move in one round, at most; and the same as a share of all shards. */
  readonly absoluteLimit?: number | undefined;
  readonly relativeLimit?: number | undefined;
  /**
   * For `"least"`: shards move for balance when the difference between two hosts exceeds this number. Too high: a new host gets none.
   * Unless given, the setting `sharding.rebalanceThreshold`, which is 1.
   */
  readonly rebalanceThreshold?: number | undefined;
  /**
   * Calls that one process keeps while shards of the type move or have no home; more are refused with BUFFER_FULL. Unless given, the
   * setting `sharding.bufferSize`, which is 10,000.
   */
  readonly bufferSize?: number | undefined;
  /**
   * How often a call that waits for the home of its shard checks again, and a request to the leader is repeated. Unless given, the setting
   * `sharding.retryInterval`, which is 1 s.
   */
  readonly retryInterval?: Duration | undefined;
  /**
   * How long a host may take to confirm that it is the home of a shard; then the leader notifies it again. Unless given, the setting
   * `sharding.startTimeout`, which is 10 s.
   */
  readonly startTimeout?: Duration | undefined;
  /**
   * Hosts of the type that must have joined before its first shard gets a home. Too low: the first host gets all shards, which then move.
   * Unless given, the setting `sharding.minHosts`, which is 1.
   */
  readonly minHosts?: number | undefined;
  /** Shards that move at the same time. Too high: many actors wait at once. Too low: it takes long until a new host has its share. */
  readonly movesAtOnce?: number | undefined;
  /** How often it is looked whether shards should move. */
  readonly rebalance?: Duration | undefined;
  /** How long actors of a shard that moves may take to end their turns; what runs longer is given up. */
  readonly handOff?: Duration | undefined;
}

/** What `sharded()` makes. */
export interface ShardedPlacement extends ShardedOptions {
  readonly kind: "sharded";
  /** How many actors always run; made by `daemons()` and `singleton()`. */
  readonly daemons?: () => number;
}

/** The host's defaults for options that a class leaves out. */
export interface ShardingDefaults {
  readonly rebalanceThreshold: number;
  readonly bufferSize: number;
  readonly retryMs: number;
  readonly startMs: number;
  readonly minHosts: number;
}

export const SHARDING_DEFAULTS: ShardingDefaults = {
  ...SHARDING,
  retryMs: parseDuration(SHARDING.retryInterval, "sharding.retryInterval"),
  startMs: parseDuration(SHARDING.startTimeout, "sharding.startTimeout"),
};

export interface ResolvedSharded extends Lifetime, Pick<ShardingDefaults, "bufferSize" | "retryMs"> {
  readonly rule: ShardedRule;
  /** What the application wrote; undefined: it uses one of ours. */
  readonly strategy: ShardStrategy | undefined;
  /** Of how ids become shards. */
  readonly version: string;
  readonly shardOf: (id: string) => number;
  readonly messageId: MessageId | undefined;
  /** Undefined: every host that has the class may run its actors. */
  readonly role: string | undefined;
}

/** For `static options`: actors of this class live in shards, which move between hosts as a whole. `placement: sharded({ shards: 200 })`. */
export function sharded(options: ShardedOptions = {}): ShardedPlacement {
  if (typeof options !== "object" || options === null) {
    throw invalid("sharded() takes an object, such as sharded({ shards: 200 })");
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
/** Besides "least", which is the only one with limits of its own. */
const STRATEGIES = ["hashed", "told"] as const;

/** `where` it was written, for errors. */
export function resolveSharded(
  placement: ShardedPlacement,
  where: string,
  defaults: ShardingDefaults = SHARDING_DEFAULTS,
): ResolvedSharded {
  for (const key of Object.keys(placement)) {
    if (key === "kind" || key === "daemons" || KEYS.includes(key)) continue;
    const rest = didYouMean(key, KEYS) || `; known are ${KEYS.join(", ")}`;
    throw invalid(`${where}: sharded() has no option "${key}"${rest}`);
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
    throw invalid(`${where}.messageId must be a function from a message to an id`);
  if (role !== undefined) checkRole(role, where);
  const { remembered, maxActive } = resolveLifetime(placement, where);
  const { daemons } = placement;
  if (daemons !== undefined && (remembered === undefined || typeof daemons !== "function"))
    throw invalid(`${where}.daemons is made by daemons(Type, n) and cannot be set`);
  const lifetime = {
    maxActive,
    remembered: daemons === undefined ? remembered : { ...remembered!, daemons },
  };
  const own = { rule, strategy, bufferSize, retryMs, messageId, role };
  return { ...own, ...readExtractor(placement, shards, where), ...lifetime };
}

/** It has to be one that a host can have: lists of them are written with commas, and without what is around those. */
function checkRole(role: unknown, where: string): void {
  const problem = nameProblem(role, LIMITS.wordBytes);
  if (problem !== undefined) throw invalid(`${where}.role ${problem}`);
  const name = role as string;
  if (name !== name.trim() || name.includes(",")) {
    throw invalid(`${where}.role must be one name, without commas and without spaces around it, not ${show(name)}`);
  }
}

function readStrategy(options: ShardedOptions, where: string, defaultThreshold: number): StrategyRule {
  const { strategy = "least", absoluteLimit, relativeLimit, rebalanceThreshold } = options;
  if (strategy === "least") {
    const share = relativeLimit ?? 0.1;
    if (!(typeof share === "number" && share >= 0 && share <= 1)) {
      throw invalid(`${where}.relativeLimit must be a share between 0 and 1, not ${show(share)}`);
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
    throw invalid(`${where}.${key} says something of the strategy "least"; how many move at once is movesAtOnce`);
  }
  return rule;
}

function readOther(strategy: unknown, where: string): StrategyRule {
  if (typeof strategy === "object" && strategy !== null) return readOwn(strategy as ShardStrategy, where);
  const kind = STRATEGIES.find((known) => known === strategy);
  if (kind !== undefined) return { kind };
  const rest = didYouMean(String(strategy), ["least", ...STRATEGIES]) || `; known are least, ${STRATEGIES.join(", ")}`;
  throw invalid(`${where}.strategy is not known: ${String(strategy)}${rest}`);
}
/** Functions are looked at here; what they say is looked at whenever they say it. */
function readOwn({ home, moves }: ShardStrategy, where: string): StrategyRule {
  if (typeof home !== "function") throw invalid(`${where}.strategy must have a method home(shard, hosts, asker)`);
  if (moves !== undefined && typeof moves !== "function") {
    throw invalid(`${where}.strategy.moves must be a method moves(hosts, moving)`);
  }
  return { kind: "own" };
}

function readExtractor(
  { shardOf: own, version }: ShardedOptions,
  shards: number,
  where: string,
): Pick<ResolvedSharded, "version" | "shardOf"> {
  if (own === undefined) {
    if (version !== undefined) throw invalid(`${where}.version names how shardOf works, and there is no shardOf`);
    return { version: "hash", shardOf: (id) => shardOf(id, shards) };
  }
  if (typeof own !== "function") throw invalid(`${where}.shardOf must be a function from an id to a text or number`);
  if (typeof version !== "string" || version === "") {
    throw invalid(`${where}.version must name how shardOf works, and change whenever that does, as in version: "1"`);
  }
  // It is kept, and held against what other hosts say.
  if (!version.isWellFormed() || /\p{Cc}/u.test(version) || Buffer.byteLength(version) > LIMITS.wordBytes) {
    const most = `at most ${LIMITS.wordBytes} bytes, without control characters`;
    throw invalid(`${where}.version must be a text of ${most}, not ${show(version.slice(0, 40))}`);
  }
  return {
    version: `own ${version}`,
    shardOf: ownExtractor(own, shards, where),
  };
}

function whole(value: unknown, fallback: number, most: number, where: string): number {
  if (value === undefined) return fallback;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 1 && value <= most) return value;
  throw invalid(`${where} must be a whole number between 1 and ${most}, not ${show(value)}`);
}

function duration(given: Duration | undefined, fallback: number, where: string): number {
  if (given === undefined) return fallback;
  const ms = parseDuration(given, where);
  if (ms > 0) return ms;
  throw invalid(`${where} must be longer than nothing`);
}

/** As it would be written. */
const show = (value: unknown): string => (typeof value === "string" ? JSON.stringify(value) : String(value));

const invalid = (what: string): LimpetError => new LimpetError("OPTION_INVALID", what);
