// What the leader may ask of the world when it decides about shards (type-shards.ts), and what it goes by.

export interface ShardHost {
  readonly incarnation: string;
  readonly address: string;
  readonly name: string;
  readonly build: string;
  /** It confirms that it is a home. A host of the release before does not. */
  readonly confirms?: boolean | undefined;
}

/** `lost`: the host that was its home is gone, and it was not handed over. */
export type MoveReason = "balance" | "leave" | "by hand" | "lost";
export type ShardPhase = "choosing" | "saving" | "gathering" | "stopping";

/** A shard that is on its way, for people. Hosts are incarnations. */
export interface MoveUnderWay {
  readonly shard: number;
  readonly phase: ShardPhase;
  readonly reason: MoveReason;
  readonly from: string;
  readonly to: string | undefined;
  readonly startedAt: number;
  /** Whose word is missing. */
  readonly waitsFor: readonly string[];
}

export type ShardEffect =
  /** Tell these where it lives. */
  | { readonly kind: "home"; readonly shard: number; readonly host: string; readonly to: readonly string[] }
  /** Tell these that it cannot be said where it lives, because nobody could be its home. */
  | { readonly kind: "nobody"; readonly shard: number; readonly to: readonly string[] }
  /** Tell everybody to keep back what is for it; answered by `gathered`. */
  | { readonly kind: "gather"; readonly shard: number; readonly move: number }
  /** Tell its home to let go; answered by `stopped`. `to`: where it is likely to live next. */
  | {
      readonly kind: "stop";
      readonly shard: number;
      readonly move: number;
      readonly host: string;
      readonly to: string | undefined;
    }
  /** Ask the strategy for the home of one; answered by `chosen`. */
  | { readonly kind: "choose"; readonly shard: number; readonly asker: string | undefined }
  /** Ask it what should move; answered by `proposed`. */
  | { readonly kind: "propose" }
  /** Make it durable; answered by `saved`. Undefined: it has none. */
  | { readonly kind: "save"; readonly shard: number; readonly host: string | undefined }
  /** For people and figures. */
  | {
      readonly kind: "moved";
      readonly shard: number;
      readonly from: string;
      readonly to: string | undefined;
      readonly reason: MoveReason;
      readonly tookMs: number;
      /** Its home did not let go in time: what still ran there was given up. */
      readonly wasForced: boolean;
    };

export interface ShardSettings {
  readonly shards: number;
  /** Shards that move at the same time. */
  readonly movesAtOnce: number;
  /** How often the strategy is asked whether some should move. */
  readonly rebalanceMs: number;
  /** How long a home may take to let go of one, and how long others may take to say that they keep calls back. */
  readonly handOffMs: number;
  /** How long a strategy may think. */
  readonly chooseMs: number;
  /** Hosts that must be there before the first shard gets a home. */
  readonly minHosts: number;
  /** How long a host may take to confirm that it is a home; then the leader notifies it again. */
  readonly startMs: number;
}
