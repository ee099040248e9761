// What hosts and the leading scheduler tell each other, as plain values. wire/control/ turns them into bytes
// and back.
//
// A host opens one stream. Its first message is `hello`; the leader answers `welcome` or `removed`, then
// sends orders. Updates and unlocks of a round are acknowledged by operation, round and type; a lock is not,
// because its update follows in the same breath, nor is anything of the first snapshot (round 0).
//
// Of sticky types (sticky-owners.ts) a host says, on every new stream, what it holds: `claims` in parts, of
// which each is answered by `noted` so that renewals find their way in between, then `claimed`, also when
// there was nothing to claim. Only then it asks for more with `acquire`, and each question is answered by its
// correlation, at once or when that can be known.
//
// Of sharded types (sharding/model/type-shards.ts) a host asks where a shard lives with `getShardHomes`, and hears
// `shardHomes`. When one moves everybody hears `beginHandOff` and says `beginHandOffAck`; its home hears
// `handOff` and says `shardStopped`; then `shardHomes` tells of the new one. The new home sends
// `shardStarted`; until then the leader repeats the notification. A strategy that is code of the application
// runs on hosts: the leader asks one of them with `askStrategy`. For people it asks all of them how many
// actors each shard has, with `getShardStats`.
import type { LostRule } from "../kernel/lost-rule.ts";
import type { ShardedRules } from "../kernel/sharded-rule.ts";

export type { LostRule } from "../kernel/lost-rule.ts";

import type { TableVersion } from "../kernel/versions.ts";

/** The address of who only calls and cannot be called. */
export const NOWHERE = "nowhere:1";

/** One host in a type's table. */
export interface TableHost {
  /** Where it is called, `ip:port`. This is its name on the ring. */
  readonly address: string;
  readonly incarnation: string;
  /** The name its operator gave it. */
  readonly name: string;
}

export const OPERATIONS = ["lock", "update", "unlock"] as const;
export type Operation = (typeof OPERATIONS)[number];

/**
 * Why a table was made anew: hosts joined, left, were lost, changed their types, did not follow orders, or a
 * new leader began.
 */
export const CHANGE_REASONS = ["join", "leave", "lost", "types", "evicted", "takeover"] as const;
export type ChangeReason = (typeof CHANGE_REASONS)[number];

export interface TypeTable {
  readonly type: string;
  readonly version: TableVersion;
  /** The version it replaces: whoever has unlocked exactly that one may compare. Undefined: nobody may. */
  readonly base: TableVersion | undefined;
  /** In order of address. Empty: nobody hosts the type any more. */
  readonly hosts: readonly TableHost[];
  /**
   * Its actors stay where they are when the table changes: the ring only says who asks for those that live
   * nowhere.
   */
  readonly sticky?: boolean | undefined;
  /** The same, for actors that live in shards: how many there are. */
  readonly shards?: number | undefined;
  /** Only who has the class can say which shard an actor is in. */
  readonly ownShards?: boolean | undefined;
  /** For metrics. A leader of the previous release does not send it. */
  readonly reason?: ChangeReason | undefined;
}

/** For each sticky type of a host. */
export type StickyRules = ReadonlyMap<string, LostRule>;

/** A host wants a sticky actor to live there. */
export interface StickyWish {
  /** By which it knows the answer. */
  readonly correlation: number;
  readonly type: string;
  readonly id: string;
  /** When that was, on its own wall clock; for people. */
  readonly since: number;
}

export type StickyAnswer =
  | { readonly correlation: number; readonly kind: "granted" }
  /** It lives there. */
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
   * What it is about. A snapshot is about all types: its update names those of which there is no table yet,
   * and nobody hosts what it does not speak of.
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
  /** An earlier incarnation of this process of which nothing is left. */
  readonly replaces: string | undefined;
  readonly address: string;
  readonly name: string;
  readonly types: readonly string[];
  /** Those of them that are sticky. Left out: none. */
  readonly sticky?: StickyRules | undefined;
  /** Those of them that are sharded. Left out: none. */
  readonly sharded?: ShardedRules | undefined;
  /** What it was built from. Left out: nothing is known of it. */
  readonly build?: string | undefined;
  /** It confirms that it is the home of shards. Left out: it is of a release that does not. */
  readonly confirmsHomes?: boolean | undefined;
  /** The last version it has unlocked, for every type it has a table of. */
  readonly unlocked: ReadonlyMap<string, TableVersion>;
  readonly machine: string;
  readonly pid: number;
}

export type HostMessage =
  | Hello
  /** The types it hosts from now on. None: it only calls, or it drains. */
  | {
      readonly kind: "types";
      readonly types: readonly string[];
      readonly sticky?: StickyRules | undefined;
      readonly sharded?: ShardedRules | undefined;
    }
  /**
   * `types`: of the round's types those it is true of. An update is acknowledged when every actor that moved
   * away is gone.
   */
  | {
      readonly kind: "ack";
      readonly operation: Operation;
      readonly round: number;
      readonly types: readonly string[];
    }
  /** `actors`: how many are in memory, for people. */
  | { readonly kind: "renew"; readonly sequence: number; readonly actors: number }
  | { readonly kind: "acquire"; readonly wishes: readonly StickyWish[] }
  /**
   * Part of what it holds of a type. Parts are numbered on each stream; `since` belongs to the ids one by
   * one.
   */
  | {
      readonly kind: "claims";
      readonly part: number;
      readonly type: string;
      readonly ids: readonly string[];
      readonly since: readonly number[];
    }
  /** That was everything. */
  | { readonly kind: "claimed" }
  /** These live here no longer. */
  | { readonly kind: "released"; readonly type: string; readonly ids: readonly string[] }
  | ShardReport
  /** Nothing of it is left; its lease need not be waited for. */
  | { readonly kind: "goodbye" };

/** What a host says about shards. */
export type ShardReport =
  /** `held`: those of them whose home the host is; named on a new stream. */
  | {
      readonly kind: "getShardHomes";
      readonly type: string;
      readonly shards: readonly number[];
      readonly held?: readonly number[] | undefined;
    }
  /** Calls for it are kept back. */
  | { readonly kind: "beginHandOffAck"; readonly type: string; readonly shard: number; readonly move: number }
  /** None of its actors is left there. */
  | {
      readonly kind: "shardStopped";
      readonly type: string;
      readonly shard: number;
      readonly move: number;
      readonly wasForced: boolean;
    }
  /** The host confirms that it is the home of these shards. Sent only when a leader asks for it. */
  | { readonly kind: "shardStarted"; readonly type: string; readonly shards: readonly number[] }
  /** It is to be the home of none of these any more, as soon as others can be. */
  | { readonly kind: "leaveShards"; readonly types: readonly string[] }
  /** What its code says to `askStrategy`. `problem`: why it says nothing, or not all that was asked. */
  | {
      readonly kind: "strategyAnswer";
      readonly question: number;
      readonly type: string;
      readonly choices: readonly ShardChoice[];
      readonly problem: string | undefined;
    }
  /** How many actors of each are in memory there; `actors` belongs to the shards one by one. */
  | {
      readonly kind: "shardStats";
      readonly question: number;
      readonly type: string;
      readonly shards: readonly number[];
      readonly actors: readonly number[];
    };

/** A record, so that the compiler asks for every kind. */
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

/** A host that may be the home of shards of a type, and those that it is the home of. */
export interface ShardRegionEntry extends TableHost {
  readonly build: string;
  readonly shards: readonly number[];
}

/** `incarnation`: of the host where it shall live; undefined: that is not said. */
export interface ShardChoice {
  readonly shard: number;
  readonly incarnation: string | undefined;
}

/** What the leader says about them. */
export type ShardOrder =
  /** Without a host: nobody could be its home. */
  | {
      readonly kind: "shardHomes";
      readonly type: string;
      readonly homes: readonly { readonly shard: number; readonly host: TableHost | undefined }[];
      /** The host must confirm its own shards among them with `shardStarted`. Left out: it need not. */
      readonly confirm?: boolean | undefined;
    }
  | { readonly kind: "beginHandOff"; readonly type: string; readonly shard: number; readonly move: number }
  | {
      readonly kind: "handOff";
      readonly type: string;
      readonly shard: number;
      readonly move: number;
      /** Where it is likely to live next. */
      readonly to: TableHost | undefined;
    }
  /**
   * The type's own strategy is asked where these shall live, for whom; if there are none, which shards should
   * move.
   */
  | {
      readonly kind: "askStrategy";
      /** By which the leader knows the answer. */
      readonly question: number;
      readonly type: string;
      readonly regions: readonly ShardRegionEntry[];
      /** On their way, and counted where they will be. */
      readonly moving: readonly number[];
      readonly wanted: readonly { readonly shard: number; readonly asker: string | undefined }[];
    }
  /** How many actors are there? */
  | { readonly kind: "getShardStats"; readonly question: number; readonly type: string };

export type SchedulerMessage =
  | { readonly kind: "welcome"; readonly term: number; readonly leaseMs: number }
  | PlacementOrder
  | { readonly kind: "renewed"; readonly sequence: number }
  | { readonly kind: "acquired"; readonly answers: readonly StickyAnswer[] }
  /** That part of its claims was heard. */
  | { readonly kind: "noted"; readonly part: number }
  /** These belong to it from now on, although it did not ask: they were kept for the host of its name. */
  | { readonly kind: "granted"; readonly type: string; readonly ids: readonly string[] }
  /** Let go of these: they belong to another host, or an operator wants them to be placed anew. */
  | { readonly kind: "release"; readonly type: string; readonly ids: readonly string[] }
  | ShardOrder
  /** This incarnation is no member any more: drop everything, come back as a new one. */
  | { readonly kind: "removed"; readonly reason: string }
  /** An operator asks it to hand over its actors. */
  | { readonly kind: "drain" };
