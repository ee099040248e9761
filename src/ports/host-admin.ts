// A host as its servers see it: the requests of HTTP and of the command line.
import type { Admin } from "./admin.ts";
import type { ReminderAdmin } from "./reminder-admin.ts";
import type { ShardSteering, ShardsSummary, ShardsView } from "./shard-admin.ts";
import type { WorkflowAdmin } from "./workflow-admin.ts";

export interface CallOptions {
  /** Milliseconds until the caller gets CALL_TIMEOUT. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
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
  readonly type?: string;
  readonly prefix?: string;
  /** Only actors in memory here. */
  readonly active?: boolean;
  readonly after?: { readonly type: string; readonly id: string };
  readonly limit: number;
}

/** The current work of an actor and its reason. Times are milliseconds since 1970. */
export interface Explanation {
  readonly type: string;
  readonly id: string;
  /** One sentence that summarizes it. */
  readonly summary: string;
  readonly phase: "not active" | "activating" | "idle" | "running" | "deactivating";
  readonly activeSince: number | undefined;
  readonly lastUsed: number | undefined;
  /** Running turns and their waits, oldest first. */
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
  /** The address for other hosts; undefined when the cluster is disabled. */
  readonly address: string | undefined;
  /** The scheduler inside this process: its address once other hosts exist, and whether it leads. */
  readonly scheduler: { readonly address: string | undefined; readonly leads: boolean } | undefined;
  /**
   * False while stopping, while the store does not answer, or while it has no lease or lacks a table of a
   * hosted type.
   */
  readonly ready: boolean;
  /** The reason when it is not ready. */
  readonly problem: string | undefined;
}

/** A view of the cluster from its leader. Times are milliseconds. */
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
  /**
   * `expected`: known from an earlier leader and not connected yet. `suspect`: its stream is lost, its lease
   * has not expired.
   */
  readonly state: "expected" | "joining" | "member" | "suspect" | "evicted";
  readonly leaseLeftMs: number;
  readonly types: readonly string[];
  /** Actors in memory by its last report. */
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
  /** Addresses of hosts that have not acknowledged. */
  readonly waitsFor: readonly string[];
  /** Undefined: its actors follow the ring. */
  readonly sticky: ClusterSticky | undefined;
}

/** The actors of a sticky type, by host. */
export interface ClusterSticky {
  /**
   * The rule for actors of a lost host: `never`, or the milliseconds after which they may move to another
   * one.
   */
  readonly lost: "never" | number;
  readonly holders: readonly StickyHolder[];
}

export interface StickyHolder {
  readonly address: string;
  readonly name: string;
  readonly actors: number;
  /** It is lost, and the actors are reserved for a host that returns under its name. */
  readonly away: boolean;
}

/** A sticky actor that a host holds. */
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
  readonly type?: string;
  /** Only this one; needs the type. */
  readonly id?: string;
  readonly prefix?: string;
  /** Actors that the requested host holds by its own records, without a request to the leader. */
  readonly here?: boolean;
  readonly after?: { readonly type: string; readonly id: string };
  readonly limit: number;
}

export interface StickyPage {
  readonly actors: readonly StickyActor[];
  /** Pass it back as `after` for the next page. */
  readonly next: { readonly type: string; readonly id: string } | undefined;
}

/** The host of an actor, and the reason. */
export interface Whereabouts {
  readonly type: string;
  readonly id: string;
  /** The owner's address; undefined when no host has the type, or the owner is not known yet. */
  readonly owner: string | undefined;
  readonly ownerName: string | undefined;
  /** The owner is the requested process. */
  readonly here: boolean;
  /**
   * It stays on its earlier host; the ring may assign another. Undefined: it follows the ring, or no host
   * holds it.
   */
  readonly sticky:
    | {
        readonly since: number;
        readonly away: boolean;
        readonly ring: string | undefined;
        readonly ringName: string | undefined;
      }
    | undefined;
  /** In memory of the requested process; the memory of other processes is not checked. */
  readonly activeHere: boolean;
  /** One sentence. */
  readonly why: string;
  readonly version: number;
  readonly term: number;
  /** When that version of the table came into force here, in milliseconds since 1970. */
  readonly since: number | undefined;
}

/** A host as its servers see it. */
export interface ServerHost extends Admin {
  /**
   * Calls an actor by names. Without an id, the first argument names the actor. Rejects with a LimpetError,
   * or with the error that the method threw.
   */
  call(
    type: string,
    id: string | undefined,
    method: string,
    args: readonly unknown[],
    options?: CallOptions,
  ): Promise<unknown>;
  types(): readonly TypeSummary[];
  status(): HostStatus;
}

/** A host as code in its process sees it: most requests of operators (ports/admin.ts) as methods. */
export interface Host extends ServerHost {
  readonly reminders: ReminderAdmin;
  readonly workflows: WorkflowAdmin;
  list(query: ListQuery): Promise<ActorPage>;
  explain(type: string, id: string): Promise<Explanation>;
  cluster(): Promise<ClusterView>;
  where(type: string, id: string): Promise<Whereabouts>;
  drain(host: string): Promise<void>;
  sticky(query: StickyQuery): Promise<StickyPage>;
  release(type: string, id: string): Promise<void>;
  shards(type: string): Promise<ShardsView>;
  shardedTypes(): Promise<readonly ShardsSummary[]>;
  steerShards(type: string, steering: ShardSteering): Promise<void>;
}
