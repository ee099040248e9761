// The requests of operators, and their answers: one union for the HTTP server, for code in the same process
// and for the control stream. Each layer passes a request on as one value; src/admin answers it.
import type {
  ActorPage,
  ClusterView,
  Explanation,
  ListQuery,
  StickyActor,
  StickyPage,
  StickyQuery,
  Whereabouts,
} from "./host-admin.ts";
import type { ShardSteering, ShardsSummary, ShardsView } from "./shard-admin.ts";

interface ActorName {
  readonly type: string;
  readonly id: string;
}

interface Namespaced {
  readonly namespace: string;
}

/** The fields of each request of a host's operators, and its answer; undefined: the answer has no content. */
interface HostKinds {
  list: [{ readonly query: ListQuery }, ActorPage];
  explain: [ActorName, Explanation];
  /** Rejects with NOT_READY when no leader answers. */
  cluster: [object, ClusterView];
  where: [ActorName, Whereabouts];
  /**
   * Drains a host, given by address or name: it hands over its actors, keeps running and forwards calls.
   * Rejects with HOST_UNKNOWN.
   */
  drain: [{ readonly host: string }, undefined];
  /** Sticky actors in order of type and id, through the leader. */
  sticky: [{ readonly query: StickyQuery }, StickyPage];
  /** The host of one sticky actor. Rejects with NOT_STICKY. */
  holder: [ActorName, StickyActor];
  /**
   * Requests the host of a sticky actor to release it, so that the next call places it again. Rejects with
   * NOT_STICKY.
   */
  release: [ActorName, undefined];
  /** All sharded types, in order of their names. */
  shardedTypes: [object, readonly ShardsSummary[]];
  /**
   * The shards of a type, through the leader. Rejects with NOT_SHARDED when the type is not sharded, or no
   * host has it.
   */
  shards: [{ readonly type: string }, ShardsView];
  /** Answered when the operation is durable, or has begun. Rejects with NOT_SHARDED. */
  steerShards: [{ readonly type: string; readonly steering: ShardSteering }, undefined];
}

/** Requests that the leader answers; it knows every namespace. All reject with NOT_LEADER elsewhere. */
interface LeaderKinds {
  cluster: HostKinds["cluster"];
  drain: HostKinds["drain"];
  /** At most LIMITS.listPage sticky actors, and where the next page begins. */
  sticky: [Namespaced & HostKinds["sticky"][0], StickyPage];
  release: [Namespaced & ActorName, undefined];
  shards: [Namespaced & HostKinds["shards"][0], ShardsView];
  steerShards: [Namespaced & HostKinds["steerShards"][0], undefined];
}

type RequestOf<Kinds extends Record<keyof Kinds, [object, unknown]>> = {
  [Kind in keyof Kinds]: { readonly kind: Kind } & Kinds[Kind][0];
}[keyof Kinds];

export type AdminRequest = RequestOf<HostKinds>;
export type AdminAnswer<R extends AdminRequest> = HostKinds[R["kind"]][1];

export type LeaderRequest = RequestOf<LeaderKinds>;
export type LeaderAnswer<R extends LeaderRequest> = LeaderKinds[R["kind"]][1];

/** The leader as operators see it, in this process or in another one. */
export interface LeaderAdmin {
  admin<R extends LeaderRequest>(request: R): Promise<LeaderAnswer<R>>;
}

/** The request changes state: when its answer is lost, the caller cannot know whether it was executed. */
export const changesState = ({ kind }: LeaderRequest): boolean =>
  kind === "drain" || kind === "release" || kind === "steerShards";
