// The part of leadership that a feature adds: the homes of shards. The leader's term drives it, one per
// namespace, and host/ connects them. It is called only while the leadership lasts.
import type { ShardedRules } from "../../kernel/sharded-rule.ts";
import type { SchedulerMessage, ShardReport, TypeTable } from "../control-messages.ts";
import type { ShardSteering, ShardsView } from "../shard-admin.ts";

/** Outlives terms. */
export interface LeaderFeature {
  /** Reads the rows that earlier leaders persisted, for a term that is about to begin. */
  load(): Promise<(term: number, over: (why: string) => void) => TermFeature>;
}

/** One term. */
export interface TermFeature {
  namespace(namespace: LeaderNamespace): { readonly coordinator: NamespaceFeature; readonly requests: ShardRequests };
  /** The term has ended: nothing more is written. */
  end(): void;
}

/** One namespace in one term. `now` is the time on the monotonic clock. */
export interface NamespaceFeature {
  readonly deadline: number;
  /** Returns whether shards of the type live on the host. */
  isHome(incarnation: string, type: string): boolean;
  message(host: LeaderHost, message: ShardReport, now: number): void;
  /** Hosts or tables have changed. */
  look(now: number): void;
  /** The leader has removed the host. */
  gone(incarnation: string, now: number): void;
  /** The host has a new stream. */
  returned(incarnation: string, now: number): void;
  /** The host's stream has ended. */
  streamLost(incarnation: string, now: number): void;
  tick(now: number): void;
  /** Hosts that have let go of a shard since the last call. */
  takeRelieved(): readonly string[];
  /** Updates metrics. */
  measure(): void;
}

/** Requests of operators. */
export interface ShardRequests {
  view(type: string, now: number): Promise<ShardsView>;
  /** Resolves when the command is durable, or has begun. */
  steer(type: string, steering: ShardSteering, now: number): Promise<void>;
}

/** A namespace as the leader knows it. */
export interface LeaderNamespace {
  readonly namespace: string;
  host(incarnation: string): LeaderHost | undefined;
  hosts(): Iterable<LeaderHost>;
  /** The host on that stream. */
  speaker(stream: number): LeaderHost | undefined;
  /** The newest table of a type that was sent to all hosts. */
  table(type: string): TypeTable | undefined;
  send(streams: readonly number[], message: SchedulerMessage): void;
  /** Runs an input of the feature, such as a finished write, if the leadership still lasts. */
  feed(input: () => void): void;
}

export interface LeaderHost {
  readonly incarnation: string;
  readonly address: string;
  readonly name: string;
  readonly build: string;
  /** The host confirms that it is the home of shards. */
  readonly confirmsHomes: boolean;
  /** Undefined: the host is not connected. */
  readonly stream: number | undefined;
  /** The types that it runs. */
  readonly types: ReadonlySet<string>;
  /** The types whose actors it may hold. */
  readonly held: ReadonlySet<string>;
  /** Its rules for its sharded types. */
  readonly sharded: ShardedRules;
}
