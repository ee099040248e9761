// A host as its doors see it: what HTTP and the command line may ask of it.
import type { ReminderAdmin } from "./reminder-admin.ts";
import type { ShardSteering, ShardsSummary, ShardsView } from "./shard-admin.ts";
import type { WorkflowAdmin } from "./workflow-admin.ts";

export interface CallOptions {
  /** Milliseconds until the caller is told CALL_TIMEOUT. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface TypeSummary {
  readonly type: string;
  /** Actors in memory now. */
  readonly active: number;
}

export interface ActorSummary {
  readonly type: string;
  readonly id: string;
  /** In memory here now. */
  readonly active: boolean;
  /** Calls waiting in its mailbox. */
  readonly waiting: number;
  readonly epoch: number | undefined;
  readonly version: number | undefined;
  /** Size of the stored state. */
  readonly bytes: number | undefined;
}

export interface ActorPage {
  readonly actors: readonly ActorSummary[];
  /** Pass it back as `after` for the next page. */
  readonly next: { readonly type: string; readonly id: string } | undefined;
}

export interface ListQuery {
  readonly type?: string | undefined;
  readonly prefix?: string | undefined;
  /** Only actors in memory here. */
  readonly active?: boolean | undefined;
  readonly after?: { readonly type: string; readonly id: string } | undefined;
  readonly limit: number;
}

/** Why is this actor doing what it does? Times are milliseconds since 1970. */
export interface Explanation {
  readonly type: string;
  readonly id: string;
  /** One sentence that answers the question. */
  readonly summary: string;
  readonly phase: "not active" | "activating" | "idle" | "running" | "deactivating";
  readonly activeSince: number | undefined;
  readonly lastUsed: number | undefined;
  /** What it does or waits for, oldest first. */
  readonly running: readonly { readonly method: string; readonly forMs: number; readonly waitsFor: string }[];
  readonly queued: readonly { readonly method: string; readonly forMs: number }[];
  readonly timers: readonly string[];
  readonly stored:
    | {
        readonly epoch: number;
        readonly version: number;
        readonly bytes: number;
        readonly owner: string;
        readonly committedAt: number | undefined;
      }
    | undefined;
}

export interface HostStatus {
  readonly incarnation: string;
  readonly version: string;
  readonly namespace: string;
  readonly startedAt: number;
  readonly store: string;
  /** Where other hosts call it; undefined when it is alone by choice. */
  readonly address: string | undefined;
  /** The scheduler inside this process: where hosts reach it once others are there, and whether it leads. */
  readonly scheduler: { readonly address: string | undefined; readonly leads: boolean } | undefined;
  /** False while stopping, while the store does not answer, or while it has no lease or lacks a table of a type it hosts. */
  readonly ready: boolean;
  /** Why it is not ready. */
  readonly problem: string | undefined;
}

/** One look at the cluster, through its leader. Times are milliseconds. */
export interface ClusterView {
  readonly term: number;
  readonly schedulers: readonly {
    readonly address: string;
    readonly incarnation: string;
    readonly dedicated: boolean;
    readonly leader: boolean;
  }[];
  readonly hosts: readonly ClusterHost[];
  readonly tables: readonly ClusterTable[];
}

export interface ClusterHost {
  readonly namespace: string;
  readonly address: string;
  readonly name: string;
  readonly incarnation: string;
  /** `expected`: known from before this leader, not heard of yet. `suspect`: its stream is gone, its lease is not over. */
  readonly state: "expected" | "joining" | "member" | "suspect" | "evicted";
  readonly leaseLeftMs: number;
  readonly types: readonly string[];
  /** In memory, as it last said. */
  readonly actors: number;
}

export interface ClusterTable {
  readonly namespace: string;
  readonly type: string;
  readonly version: number;
  readonly term: number;
  /** Addresses. */
  readonly hosts: readonly string[];
  /** `closed`: a new leader still waits for hosts that may hold actors of it. */
  readonly phase: "closed" | "settled" | "updating" | "unlocking";
  /** Addresses of those whose word is missing. */
  readonly waitsFor: readonly string[];
  /** Undefined: its actors follow the ring. */
  readonly sticky: ClusterSticky | undefined;
}

/** The actors of a sticky type, as many as each host holds. */
export interface ClusterSticky {
  /** What happens to those of a host that is lost: `never`, or after so many milliseconds, they may live on another one. */
  readonly lost: "never" | number;
  readonly holders: readonly StickyHolder[];
}

export interface StickyHolder {
  readonly address: string;
  readonly name: string;
  readonly actors: number;
  /** It is lost, and they are kept for the host that comes back under its name. */
  readonly away: boolean;
}

/** A sticky actor that somebody holds. */
export interface StickyActor {
  readonly type: string;
  readonly id: string;
  readonly address: string;
  readonly name: string;
  /** In milliseconds since 1970, by the clock of its host. */
  readonly since: number;
  readonly away: boolean;
}

export interface StickyQuery {
  readonly type?: string | undefined;
  /** This one only; needs the type. */
  readonly id?: string | undefined;
  readonly prefix?: string | undefined;
  /** Those that the host which is asked holds, by its own account; the leader is not asked. */
  readonly here?: boolean | undefined;
  readonly after?: { readonly type: string; readonly id: string } | undefined;
  readonly limit: number;
}

export interface StickyPage {
  readonly actors: readonly StickyActor[];
  /** Pass it back as `after` for the next page. */
  readonly next: { readonly type: string; readonly id: string } | undefined;
}

/** Where an actor lives, and why. */
export interface Whereabouts {
  readonly type: string;
  readonly id: string;
  /** The owner's address; undefined when nobody hosts the type, or it is not known yet. */
  readonly owner: string | undefined;
  readonly ownerName: string | undefined;
  /** The owner is the process that was asked. */
  readonly here: boolean;
  /** It lives there because it did before; the ring may say something else. Undefined: it follows the ring, or nobody holds it. */
  readonly sticky:
    | {
        readonly since: number;
        readonly away: boolean;
        readonly ring: string | undefined;
        readonly ringName: string | undefined;
      }
    | undefined;
  /** In memory at the process that was asked; another one's memory is not looked into. */
  readonly activeHere: boolean;
  /** One sentence. */
  readonly why: string;
  readonly version: number;
  readonly term: number;
  /** When that version of the table came into force here, in milliseconds since 1970. */
  readonly since: number | undefined;
}

export interface Host {
  /** Set, looked at and helped from outside. */
  readonly reminders: ReminderAdmin;
  /** Started, looked at and steered from outside. */
  readonly workflows: WorkflowAdmin;
  /** Calls an actor by names. Without an id, the first argument says whose it is. Rejects with a LimpetError, or with what the method threw. */
  call(
    type: string,
    id: string | undefined,
    method: string,
    args: readonly unknown[],
    options?: CallOptions,
  ): Promise<unknown>;
  types(): readonly TypeSummary[];
  list(query: ListQuery): Promise<ActorPage>;
  explain(type: string, id: string): Promise<Explanation>;
  status(): HostStatus;
  /** Rejects with NOT_READY when no leader can be asked. */
  cluster(): Promise<ClusterView>;
  where(type: string, id: string): Promise<Whereabouts>;
  /** Has a host, by address or name, hand over its actors; it stays and passes calls on. Rejects with HOST_UNKNOWN. */
  drain(host: string): Promise<void>;
  /** Sticky actors in order of type and id, through the leader. */
  sticky(query: StickyQuery): Promise<StickyPage>;
  /** The shards of a type, through the leader. Rejects with NOT_SHARDED when its actors do not live in shards, or nobody hosts it. */
  shards(type: string): Promise<ShardsView>;
  /** All types whose actors live in shards, in order of their names. */
  shardedTypes(): Promise<readonly ShardsSummary[]>;
  /** Resolves when what was said is durable, or has begun. Rejects with NOT_SHARDED. */
  steerShards(type: string, steering: ShardSteering): Promise<void>;
  /** Has the host that holds a sticky actor let go of it, so that the next call places it anew. Rejects with NOT_STICKY. */
  release(type: string, id: string): Promise<void>;
}
