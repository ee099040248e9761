// Remembered actors on this host: persists which actors are remembered, and starts them where their shards
// live.
//
// The store lists the shards with remembered actors. The manager reads that list at the start, when hosts
// have come or gone, and at intervals. It requests the homes of these shards, so that each gets one without a
// call. The home of a shard scans it (starter.ts).
import { invariant, LimpetError } from "../../kernel/errors.ts";
import type { ActiveActor, ActorHost, ActorTypeInfo, EndReason, Remembering } from "../../ports/actor-host.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { ShardActivation } from "../../ports/cluster/host-feature.ts";
import type { Log } from "../../ports/log.ts";
import type { Meter } from "../../ports/meter.ts";
import type { Random } from "../../ports/random.ts";
import type { Shards } from "../../ports/store/shards.ts";
import { DeclaredDaemons } from "./declared-daemons.ts";
import { rememberedInstruments } from "./metrics.ts";
import { RememberedStarter } from "./starter.ts";
import { RememberedWriter } from "./writer.ts";

/** The manager's view of shards. */
export interface ShardKnowledge {
  /** The incarnation under which the host is the home of shards. Undefined: it is not in a cluster. */
  home(): string | undefined;
  activation(type: string, shard: number): ShardActivation;
  /** Requests homes for these shards; this host is notified if it becomes one of them. */
  find(type: string, shards: readonly number[]): void;
}

export interface RememberedDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  readonly catalog: ActorHost;
  readonly shards: Shards;
  readonly known: ShardKnowledge;
}

/**
 * Interval between reads of the shards with remembered actors. A lost request is repeated then at the latest.
 */
const LOOK_MS = 30_000;
/** Delay after hosts have come or gone, because they do so in groups. */
const SOON_MS = 200;
/** Pause after a failure of the store. */
const AGAIN_MS = 2_000;
/** End reasons after which a remembered actor restarts here. */
const COMES_BACK: ReadonlySet<EndReason | undefined> = new Set<EndReason>([
  ...(["explicit", "idle", "memory", "failed", "fenced", "store"] as const),
]);
/** End reasons that count as failures, after which the pause doubles. */
const FAILED: ReadonlySet<EndReason | undefined> = new Set<EndReason>(["failed", "fenced", "store"]);
/** End reasons after which the actor restarts at the next home of its shard, which may be this host. */
const COMES_BACK_SOMEWHERE: ReadonlySet<EndReason | undefined> = new Set<EndReason>(["moved", "lease", "fenced"]);

export class RememberedActors implements Remembering {
  readonly #deps: RememberedDeps;
  readonly #patienceMs: number;
  #writer: RememberedWriter | undefined;
  readonly #starters = new Map<ActorTypeInfo, RememberedStarter>();
  readonly #daemons = new WeakMap<ActorTypeInfo, DeclaredDaemons>();
  #looking: Timer | undefined;
  #lookAt = Number.POSITIVE_INFINITY;
  /** Set during a read: the delay of the next one. */
  #nextMs: number | undefined;
  /** Shards gained before `start`. */
  #early: [type: string, shard: number][] | undefined = [];
  #isOver = false;

  constructor(patienceMs: number, deps: RememberedDeps) {
    this.#deps = deps;
    this.#patienceMs = patienceMs;
  }

  /** Starts actors from now on. */
  start(): void {
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const [type, shard] of early) this.gained(type, shard);
    this.#lookIn(0);
  }

  /** Starts no more actors. Running ones may still be forgotten. */
  stop(): void {
    this.#isOver = true;
    this.#looking?.cancel();
    for (const starter of this.#starters.values()) starter.stop();
  }

  close(): void {
    this.stop();
    this.#writer?.close();
  }

  measure(): void {
    for (const starter of this.#starters.values()) starter.measure();
  }

  // ——— Shards with remembered actors.

  /** Hosts have come or gone. */
  changed(): void {
    this.#lookIn(SOON_MS);
  }

  added(): void {
    for (const [type, starter] of this.#starters) {
      if (this.#deps.catalog.types.get(type.name) === type) continue;
      // The type was given up, and comes back as another object.
      starter.stop();
      this.#starters.delete(type);
    }
    this.#lookIn(SOON_MS);
  }

  get #types(): ActorTypeInfo[] {
    return [...this.#deps.catalog.types.values()].filter(({ isRemembered }) => isRemembered);
  }

  #lookIn(ms: number): void {
    const { clock, catalog } = this.#deps;
    const at = clock.monotonic() + ms;
    if (this.#isOver || catalog.stopping || this.#early !== undefined) return;
    if (this.#nextMs !== undefined) {
      // The read in progress may have missed the change.
      this.#nextMs = Math.min(this.#nextMs, ms);
      return;
    }
    if (this.#lookAt <= at || this.#types.length === 0) return;
    this.#looking?.cancel();
    this.#lookAt = at;
    this.#looking = clock.after(ms, () => void this.#look(), "background");
  }

  async #look(): Promise<void> {
    const { catalog, shards, log, known } = this.#deps;
    this.#nextMs = LOOK_MS;
    for (const { name } of this.#types) {
      try {
        const some = await shards.rememberedShards(catalog.namespace, name);
        if (this.#isOver) return;
        const declared = this.#lookAtDaemons(name);
        const all = declared === undefined ? some : [...new Set([...some, ...declared.keys()])];
        known.find(name, all);
        this.#scanIncomplete(name, all, declared);
      } catch (err) {
        log.debug("remembered.list-failed", { type: name, err });
        this.#nextMs = Math.min(this.#nextMs, AGAIN_MS);
      }
    }
    const next = this.#nextMs;
    this.#nextMs = undefined;
    this.#lookAt = Number.POSITIVE_INFINITY;
    this.#lookIn(next);
  }

  /**
   * Scans shards that are here and have no complete scan: their class was registered again, or a scan was
   * interrupted.
   */
  #scanIncomplete(name: string, shards: readonly number[], daemons?: ReadonlyMap<number, readonly string[]>): void {
    const type = this.#deps.catalog.types.get(name);
    if (!type?.isRemembered) return;
    const starter = this.#starter(type);
    for (const shard of shards) {
      const isComplete = starter.knows(shard) && (daemons?.get(shard) ?? []).every((id) => starter.has(id));
      if (!isComplete && this.#deps.known.activation(name, shard) !== "elsewhere") starter.scan(shard);
    }
  }

  // ——— Daemons.

  #daemonsOf(type: ActorTypeInfo): DeclaredDaemons | undefined {
    const { sharded } = type.options;
    if (sharded?.remembered?.daemons === undefined) return undefined;
    let daemons = this.#daemons.get(type);
    if (daemons === undefined) {
      daemons = new DeclaredDaemons(type.name, sharded.remembered.daemons, sharded.shardOf, this.#deps.log);
      this.#daemons.set(type, daemons);
    }
    return daemons;
  }

  /** Reads the number of daemons, stops actors beyond it, and returns the shards of the daemons. */
  #lookAtDaemons(name: string): Map<number, string[]> | undefined {
    const type = this.#deps.catalog.types.get(name);
    const daemons = type && this.#daemonsOf(type);
    if (daemons === undefined) return undefined;
    daemons.look();
    for (const activation of [...type!.activations.values()]) {
      if (daemons.has(activation.id)) continue;
      // If the store does not respond, the next scan of its shard dismisses it.
      activation.forget()?.catch(() => {});
      activation.deactivate("explicit");
    }
    return daemons.byShard();
  }

  /** This host has become the home of a shard. */
  gained(type: string, shard: number): void {
    if (this.#early !== undefined) {
      this.#early.push([type, shard]);
      return;
    }
    const known = this.#deps.catalog.types.get(type);
    if (known?.isRemembered && !this.#isOver) this.#starter(known).gained(shard);
  }

  #starter(type: ActorTypeInfo): RememberedStarter {
    let starter = this.#starters.get(type);
    if (starter === undefined) {
      const rule = type.options.sharded?.remembered;
      invariant(rule !== undefined, "only remembered actors are brought back to life");
      const { meter, catalog, known } = this.#deps;
      const instruments = rememberedInstruments(meter, catalog.namespace, type.name);
      starter = new RememberedStarter(type, rule, {
        ...this.#deps,
        instruments,
        activation: known.activation,
        daemons: this.#daemonsOf(type),
        dismiss: (id) => void this.#write(type, id, false).catch(() => {}),
      });
      if (this.#isOver) starter.stop();
      this.#starters.set(type, starter);
    }
    return starter;
  }

  // ——— Requests of actors.

  async #write(type: ActorTypeInfo, id: string, isKept: boolean): Promise<boolean> {
    const { catalog, known } = this.#deps;
    this.#writer ??= new RememberedWriter(this.#patienceMs, this.#deps);
    const shard = type.options.sharded!.shardOf(id);
    return this.#writer.write(known.home(), { namespace: catalog.namespace, type: type.name, shard, id, isKept });
  }

  async keep(type: ActorTypeInfo, id: string): Promise<boolean> {
    const daemons = this.#daemonsOf(type);
    if (daemons?.has(id) === false) {
      throw new LimpetError("SHARD_INVALID", `${type.name} has ${daemons.range}; there is no ${JSON.stringify(id)}`);
    }
    try {
      return await this.#write(type, id, true);
    } catch (error) {
      // The store may have remembered it all the same: then it has to run.
      this.#starter(type).restartLater(id);
      throw error;
    }
  }

  async forget(type: ActorTypeInfo, id: string): Promise<void> {
    const starter = this.#starter(type);
    if (this.#daemonsOf(type)?.has(id)) {
      // A daemon always runs: it restarts like one that stopped.
      starter.restartLater(id);
      return;
    }
    const isOver = starter.beginForget(id);
    try {
      // A host that is not the home any more changes nothing, and restarts nothing.
      await this.#write(type, id, false);
    } catch (error) {
      starter.restartLater(id);
      throw error;
    } finally {
      isOver();
    }
  }

  left({ type, id, isRemembered }: ActiveActor, reason: EndReason | undefined): void {
    if (this.#isOver) return;
    if (isRemembered && COMES_BACK.has(reason)) this.#starter(type).restartLater(id, FAILED.has(reason));
    else if (COMES_BACK_SOMEWHERE.has(reason)) this.#starter(type).invalidateScan(id);
  }

  restartsInMs(type: ActorTypeInfo, id: string): number | undefined {
    return this.#starters.get(type)?.restartsInMs(id);
  }
}

/** For a process outside a cluster: it is the home of every shard. */
export function openAlone(patienceMs: number, deps: Omit<RememberedDeps, "known">): RememberedActors {
  const { catalog } = deps;
  // The list of shards in the store suffices.
  const known: ShardKnowledge = {
    home: () => undefined,
    activation: () => (catalog.stopping ? "elsewhere" : "here"),
    find: () => {},
  };
  return new RememberedActors(patienceMs, { ...deps, known });
}
