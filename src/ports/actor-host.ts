// The actors of a host, as placement, sharding and reminders use them: the registered types, the
// actors in memory, and the steps that move, start, take and remind them. `Catalog` implements it.
import type { ShardStrategy } from "../kernel/shard-strategy.ts";
import type { ShardedRule } from "../kernel/sharded-rule.ts";
import type { LostRule } from "./control-messages.ts";
import type { ReminderKey, Settlement, Tick } from "./store/reminders.ts";
import type { Taken } from "./store/store.ts";

/**
 * Why an actor leaves memory. `idle`: without calls for long; `memory`: the host is full; `explicit`: it
 * called `deactivate()` or `passivate()`; `stop`: the process stops; `moved`: it lives on another host from
 * now on.
 */
export type DeactivationReason = "idle" | "memory" | "explicit" | "stop" | "moved";

/** Reason for the end of a life, as the metrics count it. */
export type EndReason = DeactivationReason | "fenced" | "store" | "failed" | "lease";

export type ActivationPhase = "cold" | "activating" | "active" | "deactivating" | "fenced";

export interface ActorHost {
  readonly namespace: string;
  /** The registered types, by name. */
  readonly types: ReadonlyMap<string, ActorTypeInfo>;
  /** Version of the set of types: it grows with every added or removed type. */
  readonly edition: number;
  /** Number of actors in memory. */
  readonly resident: number;
  /** True: one more actor fits without an eviction. */
  readonly hasRoom: boolean;
  /** True: the process stops, and activates no actor any more. */
  readonly stopping: boolean;
  /** The limits of waiting calls to a sharded type, whether or not this host has the class. */
  sharding(type: string): CallBufferOptions;
  /** False: too much of the host's lease has passed to begin a turn. */
  mayBegin(now: number): boolean;
  /** True: actors of this type run here, or on another known host. */
  reaches(type: string): boolean;
  /** Delivers a tick to its actor on any host. Resolves with true if the turn stored the settlement. */
  remind(key: ReminderKey, data: string | undefined, tick: Tick, settlement: Settlement): Promise<boolean>;
  /**
   * Activates an actor without a call. `isKnown`: the store already remembers it. Resolves when it is active.
   */
  start(type: ActorTypeInfo, id: string, isKnown: boolean): Promise<void>;
  /**
   * Deactivates every actor of a type for which `stays` is false. Running turns may end within `timeoutMs`,
   * and waiting calls are routed again. Resolves with the number of actors when all have left.
   */
  moveAway(type: ActorTypeInfo, stays: (id: string) => boolean, timeoutMs: number): Promise<number>;
  /** The same for these actors. */
  letGo(actors: readonly ActiveActor[], timeoutMs: number): Promise<number>;
  /** The lease is lost: no actor in memory counts any more. Returns their number. */
  dropAll(): number;
  /** Takes an actor that does not live here yet. */
  prefetch(type: string, id: string): Promise<Taken>;
  /** From now on an activation asks this source for its actor before it takes the actor in the store. */
  usePrefetched(source: PrefetchedTakes): void;
}

export interface ActorTypeInfo {
  readonly name: string;
  readonly options: {
    /** Undefined: the ring places actors of the type. */
    readonly sticky: ResolvedSticky | undefined;
    /** Undefined: actors of the type do not live in shards. */
    readonly sharded: ShardedTypeOptions | undefined;
  };
  /** Only an actor with state needs the store. */
  readonly stateful: boolean;
  /** Hosts start its actors again without a call, so they stay in memory. */
  readonly isRemembered: boolean;
  readonly activations: ReadonlyMap<string, ActiveActor>;
  readonly useOrder: { readonly oldest: ActiveActor | undefined };
  /** Undefined: the type is not sharded. */
  readonly byShard: ActorsByShard | undefined;
}

/** An actor in memory. */
export interface ActiveActor {
  readonly type: ActorTypeInfo;
  readonly id: string;
  readonly phase: ActivationPhase;
  /** Active, with nothing to do. */
  readonly idle: boolean;
  /** On the monotonic clock. */
  readonly lastUsed: number;
  /** The next one in the order of use. */
  readonly newer: ActiveActor | undefined;
  /** True: the actor is started again when it stops. */
  readonly isRemembered: boolean;
  /** Leaves memory as soon as no turn runs. */
  deactivate(reason: DeactivationReason): void;
  /** Removes the actor from the remembered ones. Undefined: it is not remembered. */
  forget(): Promise<void> | undefined;
}

export interface ActorsByShard {
  /** Actors that must leave this host together with the shard. */
  leavingWith(shard: number): ActiveActor[];
  /** Number of actors in memory. */
  size(shard: number): number;
}

/** Takes of actors that began before their shard was here. */
export interface PrefetchedTakes {
  /** Undefined: the actor has to be taken. */
  claim(type: string, id: string): Promise<Taken> | undefined;
}

/** Starts remembered actors again. Sharding implements it. */
export interface Remembering {
  /** From now on remembered actors are started. */
  start(): void;
  /**
   * Remembers an actor before it begins. Resolves when the store has it; with false, if this host must not
   * run the actor.
   */
  keep(type: ActorTypeInfo, id: string): Promise<boolean>;
  /** Forgets an actor. Resolves when it will not be started again; rejects when that is unknown. */
  forget(type: ActorTypeInfo, id: string): Promise<void>;
  /** The actor has left memory without waiting calls. */
  left(actor: ActiveActor, reason: EndReason | undefined): void;
  /** Time until a stopped actor is started again here; undefined: no restart is planned. */
  restartsInMs(type: ActorTypeInfo, id: string): number | undefined;
  /** Updates the gauges; called when the metrics are read. */
  measure(): void;
  /** A type was added. */
  added(): void;
  /** No actor is left in this process: nothing more is written. */
  close(): void;
}

/** The checked options of a sticky type. */
export interface ResolvedSticky {
  readonly lost: LostRule;
  /** Infinity: no limit. */
  readonly limit: number;
  readonly full: "oldest" | "refuse";
}

/** The limits of calls that wait for the home of a shard. */
export interface CallBufferOptions {
  readonly bufferSize: number;
  readonly retryMs: number;
}

/** The checked options of a sharded type. */
export interface ShardedTypeOptions extends CallBufferOptions {
  readonly rule: ShardedRule;
  /** The custom strategy of the application; undefined: a built-in one. */
  readonly strategy: ShardStrategy | undefined;
  readonly shardOf: (id: string) => number;
  /** Undefined: every host that has the class may run its actors. */
  readonly role: string | undefined;
  /** Undefined: a call activates its actors. */
  readonly remembered: RememberedRule | undefined;
}

/** How hosts start remembered actors. */
export interface RememberedRule {
  readonly startsPerSecond: number;
  readonly restartAfterMs: number;
  /** Not less than restartAfterMs. */
  readonly restartAtMostMs: number;
  /**
   * Number of actors that always run, with the ids "0", "1" and so on. Left out: actors run after their first
   * call.
   */
  readonly daemons?: () => number;
}
