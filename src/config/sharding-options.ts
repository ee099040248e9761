// Defaults for all sharded types; an option of a class overrides them. All of them nest under `sharding` in
// code and in limpet.yaml. This file only declares them.

import type { Duration } from "../kernel/durations.ts";
import { SHARDING } from "../kernel/sharded-rule.ts";
import { MOST_SHARDS } from "../kernel/shards.ts";
import { duration, wholeNumber } from "./option.ts";

/**
 * Settings in code under `sharding`. A class may set the same in `sharded({ … })`, and then its own value
 * counts.
 */
export interface ShardingSettings {
  /** Shards move for balance when the difference between two hosts exceeds this number of shards. */
  readonly rebalanceThreshold?: number;
  /** Calls of one type that a process keeps while their shards move or have no home. */
  readonly bufferSize?: number;
  /** How often a call that waits for a shard's home checks again, and a request to the leader is repeated. */
  readonly retryInterval?: Duration;
  /**
   * How long a host may take to confirm that it is the home of a shard; then the leader notifies it again.
   */
  readonly startTimeout?: Duration;
  /** Hosts of a type that must have joined before its first shard gets a home. */
  readonly minHosts?: number;
}

export const SHARDING_OPTIONS = {
  shardingRebalanceThreshold: wholeNumber(
    "sharding.rebalanceThreshold",
    SHARDING.rebalanceThreshold,
    [1, MOST_SHARDS],
    {
      help: 'Shards of a type with the strategy "least" move when the difference between two hosts exceeds this number of shards.',
      breaks:
        "Too low: shards move after small changes. Too high: a new host gets no shards, and other hosts carry the load.",
    },
  ),
  shardingBufferSize: wholeNumber("sharding.bufferSize", SHARDING.bufferSize, [1, 10_000_000], {
    help: "Calls of one sharded type that a process buffers while their shards move or have no home; further calls fail with BUFFER_FULL.",
    breaks: "Too low: calls fail whenever a shard moves. Too high: buffered calls fill the memory of the process.",
  }),
  shardingRetryInterval: duration("sharding.retryInterval", SHARDING.retryInterval, [10], {
    help: "How often a waiting call checks for the home of its shard, and a host repeats a request to the leader.",
    breaks:
      "Too low: many waiting calls keep the process and the leader busy. Too high: calls wait longer than necessary.",
  }),
  shardingStartTimeout: duration("sharding.startTimeout", SHARDING.startTimeout, [100], {
    help: "How long a host may take to confirm that it is the home of a shard; then the leader notifies it again.",
    breaks:
      "Too low: a slow host gets many notifications. Too high: remembered actors start that late after a lost notification.",
  }),
  shardingMinHosts: wholeNumber("sharding.minHosts", SHARDING.minHosts, [1, 10_000], {
    help: "Hosts of a sharded type that must join before its first shard gets a home; calls wait until then.",
    breaks:
      "Too low: the first host of a cluster gets all shards, which then move. Too high: calls time out while fewer hosts run.",
  }),
};
