// Effects that the leader's decisions about shards (type-shards.ts) request from a driver, and their
// settings.
import type { MoveReason, ShardMove } from "../../ports/shard-admin.ts";

export interface ShardHost {
  readonly incarnation: string;
  readonly address: string;
  readonly name: string;
  readonly build: string;
  /** The host confirms that it is a home. A host of the previous release does not. */
  readonly confirms?: boolean;
}

export type ShardPhase = ShardMove["phase"];

/** A move in progress, for display. Hosts are incarnations. */
export interface MoveInProgress extends Omit<ShardMove, "forMs"> {
  readonly startedAt: number;
}

export type ShardEffect =
  /** Notify these hosts of its home. */
  | { readonly kind: "home"; readonly shard: number; readonly host: string; readonly to: readonly string[] }
  /** Notify these hosts that no host can be its home. */
  | { readonly kind: "noHome"; readonly shard: number; readonly to: readonly string[] }
  /** Ask all hosts to buffer calls for it; answered by `handOffAcked`. */
  | { readonly kind: "beginHandOff"; readonly shard: number; readonly move: number }
  /** Ask its home to let go; answered by `shardStopped`. `to`: its probable next home. */
  | {
      readonly kind: "handOff";
      readonly shard: number;
      readonly move: number;
      readonly host: string;
      readonly to: string | undefined;
    }
  /** Ask the strategy for the home of a shard; answered by `allocated`. */
  | { readonly kind: "allocate"; readonly shard: number; readonly asker: string | undefined }
  /** Ask the strategy for moves; answered by `movesProposed`. */
  | { readonly kind: "proposeMoves" }
  /** Persist the home; answered by `persisted`. Undefined: there is none. */
  | { readonly kind: "persist"; readonly shard: number; readonly host: string | undefined }
  /** For display and metrics. */
  | {
      readonly kind: "moved";
      readonly shard: number;
      readonly from: string;
      readonly to: string | undefined;
      readonly reason: MoveReason;
      readonly tookMs: number;
      /** Its home did not stop all actors in time: the remaining ones were given up. */
      readonly wasForced: boolean;
    };

export interface ShardSettings {
  readonly shards: number;
  /** Maximum number of shards that move at the same time. */
  readonly movesAtOnce: number;
  /** Interval between requests for moves to the strategy. */
  readonly rebalanceMs: number;
  /**
   * Time limit for a home to let go of a shard, and for other hosts to acknowledge that they buffer calls.
   */
  readonly handOffMs: number;
  /** Time limit for an answer of the strategy. */
  readonly chooseMs: number;
  /** Number of hosts required before the first shard gets a home. */
  readonly minHosts: number;
  /** Time limit for a host to confirm that it is a home; then the leader notifies it again. */
  readonly startMs: number;
}
