// The parts of a host that follow its control stream and its lease: sticky actors and shards. The membership
// of the host drives them, the placement resolver asks them for routes, and host/ connects them.
import type { ShardedRules } from "../../kernel/sharded-rule.ts";
import type { ControlStream, HostMessage, SchedulerMessage, ShardOrder, TableHost } from "../control-messages.ts";
import type { ShardRouting } from "../placement.ts";

/** `Message`: the messages of the leader for this feature. */
export interface HostFeature<Message extends SchedulerMessage> {
  /** The leader has sent welcome on this stream. */
  joined(stream: ControlStream<HostMessage>): void;
  /** The stream has ended. */
  disconnected(): void;
  message(message: Message): void;
  /** Drops everything. `isLost`: because the lease is lost; otherwise the host stops. */
  clear(isLost: boolean): void;
}

/** `wait`: this host is the home of the shard, but its actors may not be activated now. */
export type ShardActivation = "here" | "wait" | "elsewhere";

/** The shards of a host, as its membership and its placement resolver use them. */
export interface ShardHostFeature extends HostFeature<ShardOrder> {
  /** The rules of the sharded types that this host runs. */
  rules(): ShardedRules;
  /** The reason why calls to shards make no progress; undefined when they do. */
  readonly problem: string | undefined;
  /** Asks the leader to take over all shards of these types. False: there is nothing to wait for. */
  leave(types: readonly string[]): boolean;
  /** Returns whether this host is the home of a shard of one of the types. */
  holdsAny(types: readonly string[]): boolean;

  /** The router for a type with this newest table. `knows`: this host can compute the shard of an actor. */
  router(type: string, table: KnownTable): ShardRouting & { readonly knows: boolean };
  shardOf(type: string, id: string): number | undefined;
  /** The cached home of the actor's shard, if another host is the home. */
  cachedOwner(type: string, id: string): string | undefined;
  /** The home of the actor's shard is not at that address. */
  invalidateOwner(type: string, id: string, address: string): void;
  /** Another host looks for the actor here. */
  recheckOwner(type: string, id: string): void;
  activation(type: string, shard: number): ShardActivation;
}

/** The settings of a type in one table. Each table is a new object. */
export interface KnownTable {
  readonly hosts: readonly TableHost[];
  /** Actors of the type stay on their host. */
  readonly sticky: boolean;
  /** Number of shards; undefined: the type is not sharded. */
  readonly shards: number | undefined;
  /** Only hosts with the class can compute the shard of an actor. */
  readonly ownShards: boolean;
}

/** The tables of a host, as its features read them. */
export interface KnownTables {
  /** The newest term that this host has seen. */
  readonly term: number;
  /** The table that routes calls to a type. */
  newest(type: string): KnownTable | undefined;
  shards(type: string): number | undefined;
  /** The host at that address in the newest table of a type. */
  hostAt(type: string, address: string): TableHost | undefined;
}
