// The messages between hosts and the leading scheduler, as plain values. wire/control/ serializes them.
//
// A host opens one stream. Its first message is `hello`; the leader answers `welcome` or `removed`, then
// sends orders. Hosts acknowledge the updates and unlocks of a round by operation, round and type. They do
// not acknowledge a lock, because its update follows immediately, nor the first snapshot (round 0).
//
// For sticky types (sticky-owners.ts), a host reports its actors on every new stream: `claims` in parts, each
// acknowledged by `noted` so that renewals fit in between, then `claimed`, even without claims. Only then it
// requests more actors with `acquire`. Each request is answered by its correlation, at once or when the
// answer is known.
//
// For sharded types (sharding/model/type-shards.ts), a host requests the home of a shard with
// `getShardHomes`, and the leader answers `shardHomes`. When a shard moves, every host gets `beginHandOff`
// and sends `beginHandOffAck`; its home gets `handOff` and sends `shardStopped`; then `shardHomes` announces
// the new home. The new home sends `shardStarted`; until then the leader repeats the notification. A custom
// strategy runs on hosts: the leader requests one of them with `askStrategy`. For display the leader requests
// actor counts from all hosts with `getShardStats`.
import type { ShardedRules } from "../kernel/sharded-rule.ts";
import type { TableVersion } from "../kernel/versions.ts";

/**
 * The rule for sticky actors of a lost host: `never`, or the milliseconds after which they may move to
 * another host. Until then they are reserved for a host of the same name.
 */
export type LostRule = "never" | number;

/** The address of a host that only calls and accepts no calls. */
export const NOWHERE = "nowhere:1";

/** One host in a type's table. */
export interface TableHost {
  /** Its address for calls, `ip:port`. This is its name on the ring. */
  readonly address: string;
  readonly incarnation: string;
  /** Its name, set by the operator. */
  readonly name: string;
}

export const OPERATIONS = ["lock", "update", "unlock"] as const;
export type Operation = (typeof OPERATIONS)[number];

/**
 * The reason of a new table: hosts joined, left, were lost, changed their types, did not follow orders, or a
 * new leader began.
 */
export const CHANGE_REASONS = ["join", "leave", "lost", "types", "evicted", "takeover"] as const;
export type ChangeReason = (typeof CHANGE_REASONS)[number];

export interface TypeTable {
  readonly type: string;
  readonly version: TableVersion;
  /**
   * The version it replaces: only a host that has unlocked exactly this version may compare. Undefined: no
   * host may.
   */
  readonly base: TableVersion | undefined;
  /** In order of address. Empty: no host has the type any more. */
  readonly hosts: readonly TableHost[];
  /**
   * Its actors keep their host when the table changes: the ring only selects the host that acquires an actor
   * without one.
   */
  readonly sticky?: boolean;
  /** The same for sharded actors: the number of shards. */
  readonly shards?: number;
  /** Only hosts with the class can compute the shard of an actor. */
  readonly ownShards?: boolean;
  /** For metrics. A leader of the previous release does not send it. */
  readonly reason?: ChangeReason;
}

/** For each sticky type of a host. */
export type StickyRules = ReadonlyMap<string, LostRule>;

/** A request of a host to hold a sticky actor. */
export interface StickyRequest {
  /** Identifies the request in the answer. */
  readonly correlation: number;
  readonly type: string;
  readonly id: string;
  /** The time of the request on the host's wall clock; for display. */
  readonly since: number;
}

export type StickyAnswer =
  | { readonly correlation: number; readonly kind: "granted" }
  /** It lives on this host. */
  | { readonly correlation: number; readonly kind: "owner"; readonly host: TableHost }
  | { readonly correlation: number; readonly kind: "refused"; readonly code: StickyRefusal; readonly why: string };

export const STICKY_REFUSALS = ["OPTION_INVALID", "NOT_READY", "OWNER_AWAY", "HOST_FULL"] as const;
export type StickyRefusal = (typeof STICKY_REFUSALS)[number];

export interface PlacementOrder {
  readonly kind: "order";
  readonly operation: Operation;
  readonly namespace: string;
  readonly term: number;
  /**
   * Grows with every round, also from term to term. Types that change together may share one. 0: part of a
   * snapshot.
   */
  readonly round: number;
  /**
   * The types of the order. A snapshot covers all types: its update names types without a table, and unnamed
   * types have no hosts.
   */
  readonly types: readonly string[];
  /** For updates. */
  readonly tables: readonly TypeTable[];
  readonly replicationFactor: number;
}

export interface Hello {
  readonly kind: "hello";
  readonly namespace: string;
  readonly incarnation: string;
  /** An earlier incarnation of this process, which has ended completely. */
  readonly replaces: string | undefined;
  readonly address: string;
  readonly name: string;
  readonly types: readonly string[];
  /** Its sticky types. Absent: none. */
  readonly sticky?: StickyRules;
  /** Its sharded types. Absent: none. */
  readonly sharded?: ShardedRules;
  /** Its build. Absent: unknown. */
  readonly build?: string;
  /** It confirms that it is the home of shards. Absent: its release does not. */
  readonly confirmsHomes?: boolean;
  /** The last version it has unlocked, for each table it has. */
  readonly unlocked: ReadonlyMap<string, TableVersion>;
  readonly machine: string;
  readonly pid: number;
}

export type HostMessage =
  | Hello
  /** The types it hosts from now on. Empty: it only calls, or it drains. */
  | {
      readonly kind: "types";
      readonly types: readonly string[];
      readonly sticky?: StickyRules;
      readonly sharded?: ShardedRules;
    }
  /**
   * `types`: the types of the round that it acknowledges. An update is acknowledged when every actor that
   * moved away is gone.
   */
  | {
      readonly kind: "ack";
      readonly operation: Operation;
      readonly round: number;
      readonly types: readonly string[];
    }
  /** `actors`: the number in memory, for display. */
  | { readonly kind: "renew"; readonly sequence: number; readonly actors: number }
  | { readonly kind: "acquire"; readonly requests: readonly StickyRequest[] }
  /** A part of its actors of a type. Parts are numbered on each stream; `since` has one item per id. */
  | {
      readonly kind: "claims";
      readonly part: number;
      readonly type: string;
      readonly ids: readonly string[];
      readonly since: readonly number[];
    }
  /** The end of the claims. */
  | { readonly kind: "claimed" }
  /** These actors have left the host. */
  | { readonly kind: "released"; readonly type: string; readonly ids: readonly string[] }
  | ShardReport
  /** The host has ended completely; its lease need not expire first. */
  | { readonly kind: "goodbye" };

/** Messages of a host about shards. */
export type ShardReport =
  /** `held`: the shards among them with this host as home; named on a new stream. */
  | {
      readonly kind: "getShardHomes";
      readonly type: string;
      readonly shards: readonly number[];
      readonly held?: readonly number[];
    }
  /** The host buffers calls for the shard. */
  | { readonly kind: "beginHandOffAck"; readonly type: string; readonly shard: number; readonly move: number }
  /** None of its actors is left on the host. */
  | {
      readonly kind: "shardStopped";
      readonly type: string;
      readonly shard: number;
      readonly move: number;
      readonly wasForced: boolean;
    }
  /** The host confirms that it is the home of these shards. Sent only when a leader asks for it. */
  | { readonly kind: "shardStarted"; readonly type: string; readonly shards: readonly number[] }
  /** The host must no longer be a home of these types, as soon as other hosts can be. */
  | { readonly kind: "leaveShards"; readonly types: readonly string[] }
  /**
   * The answer of the custom strategy to `askStrategy`. `problem`: the reason why it is missing or
   * incomplete.
   */
  | {
      readonly kind: "strategyAnswer";
      readonly question: number;
      readonly type: string;
      readonly choices: readonly ShardChoice[];
      readonly problem: string | undefined;
    }
  /** Actors in memory by shard; `actors` has one item per shard. */
  | {
      readonly kind: "shardStats";
      readonly question: number;
      readonly type: string;
      readonly shards: readonly number[];
      readonly actors: readonly number[];
    };

/** A record, so that the compiler requires every kind. */
const SHARD_REPORTS: Readonly<Record<ShardReport["kind"], true>> = {
  getShardHomes: true,
  beginHandOffAck: true,
  shardStopped: true,
  shardStarted: true,
  leaveShards: true,
  strategyAnswer: true,
  shardStats: true,
};

export const isShardReport = (message: HostMessage): message is ShardReport =>
  Object.hasOwn(SHARD_REPORTS, message.kind);

/** A host that may be the home of shards of a type, and its shards. */
export interface ShardRegionEntry extends TableHost {
  readonly build: string;
  readonly shards: readonly number[];
}

/** `incarnation`: the host of the new home; undefined when the strategy names none. */
export interface ShardChoice {
  readonly shard: number;
  readonly incarnation: string | undefined;
}

/** Messages of the leader about shards. */
export type ShardOrder =
  /** Without a host: no host can be its home. */
  | {
      readonly kind: "shardHomes";
      readonly type: string;
      readonly homes: readonly { readonly shard: number; readonly host: TableHost | undefined }[];
      /** The host must confirm its own shards among them with `shardStarted`. Absent: it need not. */
      readonly confirm?: boolean;
    }
  | { readonly kind: "beginHandOff"; readonly type: string; readonly shard: number; readonly move: number }
  | {
      readonly kind: "handOff";
      readonly type: string;
      readonly shard: number;
      readonly move: number;
      /** Its probable next home. */
      readonly to: TableHost | undefined;
    }
  /**
   * Requests the custom strategy for the homes of these shards and their askers; without any, for shards to
   * move.
   */
  | {
      readonly kind: "askStrategy";
      /** Identifies the request in the answer. */
      readonly question: number;
      readonly type: string;
      readonly regions: readonly ShardRegionEntry[];
      /** Moving shards, which count at their target. */
      readonly moving: readonly number[];
      readonly wanted: readonly { readonly shard: number; readonly asker: string | undefined }[];
    }
  /** Requests the actor counts. */
  | { readonly kind: "getShardStats"; readonly question: number; readonly type: string };

export type SchedulerMessage =
  | { readonly kind: "welcome"; readonly term: number; readonly leaseMs: number }
  | PlacementOrder
  | { readonly kind: "renewed"; readonly sequence: number }
  | { readonly kind: "acquired"; readonly answers: readonly StickyAnswer[] }
  /** Acknowledges a part of the claims. */
  | { readonly kind: "acknowledged"; readonly part: number }
  /** The host holds these from now on without a request: they were reserved for a host of its name. */
  | { readonly kind: "granted"; readonly type: string; readonly ids: readonly string[] }
  /**
   * Requests the release of these: they belong to another host, or an operator wants them to be placed again.
   */
  | { readonly kind: "release"; readonly type: string; readonly ids: readonly string[] }
  | ShardOrder
  /** This incarnation is no longer a member: it must drop everything and return as a new one. */
  | { readonly kind: "removed"; readonly reason: string }
  /** An operator requests the host to hand over its actors. */
  | { readonly kind: "drain" };

/**
 * One end of the stream between a host and the leading scheduler. Neither method throws; messages that cannot
 * be sent any more are dropped.
 */
export interface ControlStream<Out> {
  send(message: Out): void;
  /** Ends the stream, and sends the error to the peer. Idempotent. */
  close(error?: { readonly code: string; readonly message: string }): void;
}

/** The receiver of a stream's messages. `closed` is called once, last. */
export interface ControlListener<In> {
  message(message: In): void;
  closed(error: Error | undefined): void;
}
