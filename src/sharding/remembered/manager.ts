// Remembered actors on this host: has it written who is one, and brings them back to life where their shards live.
//
// Which shards have some is read from the store: when the host begins, when hosts have come or gone, and every now and then. Of those the host
// asks where they live, so that each gets a home although nobody calls. Whoever becomes the home of one goes through it
// (remembered-starter.ts).
import type { Activation, EndReason } from "../../actors/activation/activation.ts";
import type { ActorType } from "../../actors/actor-type.ts";
import type { Catalog } from "../../actors/catalog.ts";
import type { Remembering } from "../../actors/remembering.ts";
import { invariant, LimpetError } from "../../kernel/errors.ts";
import type { Membership } from "../../placement/host/membership.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Meter } from "../../ports/meter.ts";
import type { Random } from "../../ports/random.ts";
import type { Shards } from "../../ports/store/shards.ts";
import { DeclaredDaemons } from "./declared-daemons.ts";
import { rememberedInstruments } from "./metrics.ts";
import { RememberedStarter } from "./starter.ts";
import { RememberedWriter } from "./writer.ts";

/** Of a shard: its actors may come to life here now; this host is its home, but they have to wait; it is not. */
export type Standing = "here" | "wait" | "elsewhere";

/** What is to be known of shards. */
export interface ShardKnowledge {
  /** Under this name the host is the home of shards. Undefined: it is alone. */
  home(): string | undefined;
  standing(type: string, shard: number): Standing;
  /** These are to have a home, and if it is this host it is to hear so. */
  find(type: string, shards: readonly number[]): void;
}

export interface RememberedDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  readonly catalog: Catalog;
  readonly shards: Shards;
  readonly known: ShardKnowledge;
}

/** How often it is looked which shards have remembered actors. What became of a question that was lost is seen then at the latest. */
const LOOK_MS = 30_000;
/** Hosts come and go in groups. */
const SOON_MS = 200;
/** The store could not say. */
const AGAIN_MS = 2_000;
/** Why one that is remembered has stopped, if it is to come back here. */
const COMES_BACK: ReadonlySet<EndReason | undefined> = new Set<EndReason>([
  ...(["explicit", "idle", "memory", "failed", "fenced", "store"] as const),
]);
/** Those of them that count as failures, after which the pause doubles. */
const FAILED: ReadonlySet<EndReason | undefined> = new Set<EndReason>(["failed", "fenced", "store"]);
/** Those come back where their shards live next, which may be here. */
const COMES_BACK_SOMEWHERE: ReadonlySet<EndReason | undefined> = new Set<EndReason>(["moved", "lease", "fenced"]);

export class RememberedActors implements Remembering {
  readonly #deps: RememberedDeps;
  readonly #patienceMs: number;
  #book: RememberedWriter | undefined;
  readonly #starters = new Map<ActorType, RememberedStarter>();
  readonly #daemons = new WeakMap<ActorType, DeclaredDaemons>();
  #looking: Timer | undefined;
  #lookAt = Number.POSITIVE_INFINITY;
  /** While it is looked: when it is to be looked next. */
  #nextMs: number | undefined;
  /** Shards that were gained before it began. */
  #early: [type: string, shard: number][] | undefined = [];
  #isOver = false;

  constructor(patienceMs: number, deps: RememberedDeps) {
    this.#deps = deps;
    this.#patienceMs = patienceMs;
  }

  /** From now on actors are brought back to life. */
  start(): void {
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const [type, shard] of early) this.gained(type, shard);
    this.#lookIn(0);
  }

  /** No more are. Those that run may still be forgotten. */
  stop(): void {
    this.#isOver = true;
    this.#looking?.cancel();
    for (const starter of this.#starters.values()) starter.stop();
  }

  measure(): void {
    for (const starter of this.#starters.values()) starter.measure();
  }

  // ——— Which shards there are.

  /** Hosts have come or gone. */
  changed(): void {
    this.#lookIn(SOON_MS);
  }

  added(): void {
    for (const [type, starter] of this.#starters) {
      if (this.#deps.catalog.types.get(type.name) === type) continue;
      // It was given up before, and comes back as another.
      starter.stop();
      this.#starters.delete(type);
    }
    this.#lookIn(SOON_MS);
  }

  get #types(): ActorType[] {
    return [...this.#deps.catalog.types.values()].filter(({ isRemembered }) => isRemembered);
  }

  #lookIn(ms: number): void {
    const { clock, catalog } = this.#deps;
    const at = clock.monotonic() + ms;
    if (this.#isOver || catalog.stopping || this.#early !== undefined) return;
    if (this.#nextMs !== undefined) {
      // What is being read may be older than what has changed.
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
        this.#goThrough(name, all, declared);
      } catch (err) {
        log.debug("it could not be read which shards have remembered actors", { type: name, err });
        this.#nextMs = Math.min(this.#nextMs, AGAIN_MS);
      }
    }
    const next = this.#nextMs;
    this.#nextMs = undefined;
    this.#lookAt = Number.POSITIVE_INFINITY;
    this.#lookIn(next);
  }

  /** Shards that are here and were not gone through: of a class that was taken up again, or given up half-way. */
  #goThrough(name: string, shards: readonly number[], daemons?: ReadonlyMap<number, readonly string[]>): void {
    const type = this.#deps.catalog.types.get(name);
    if (!type?.isRemembered) return;
    const starter = this.#starter(type);
    for (const shard of shards) {
      const isComplete = starter.knows(shard) && (daemons?.get(shard) ?? []).every((id) => starter.has(id));
      if (!isComplete && this.#deps.known.standing(name, shard) !== "elsewhere") starter.goThrough(shard);
    }
  }

  // ——— Daemons.

  #daemonsOf(type: ActorType): DeclaredDaemons | undefined {
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
      // If the store does not answer, it is dismissed when its shard is gone through.
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

  #starter(type: ActorType): RememberedStarter {
    let starter = this.#starters.get(type);
    if (starter === undefined) {
      const rule = type.options.sharded?.remembered;
      invariant(rule !== undefined, "only remembered actors are brought back to life");
      const { meter, catalog, known } = this.#deps;
      const instruments = rememberedInstruments(meter, catalog.namespace, type.name);
      starter = new RememberedStarter(type, rule, {
        ...this.#deps,
        instruments,
        standing: known.standing,
        daemons: this.#daemonsOf(type),
        dismiss: (id) => void this.#write(type, id, false).catch(() => {}),
      });
      if (this.#isOver) starter.stop();
      this.#starters.set(type, starter);
    }
    return starter;
  }

  // ——— What actors say.

  async #write(type: ActorType, id: string, isKept: boolean): Promise<boolean> {
    const { catalog, known } = this.#deps;
    this.#book ??= new RememberedWriter(this.#patienceMs, this.#deps);
    const shard = type.options.sharded!.shardOf(id);
    return this.#book.write(known.home(), { namespace: catalog.namespace, type: type.name, shard, id, isKept });
  }

  async keep(type: ActorType, id: string): Promise<boolean> {
    const daemons = this.#daemonsOf(type);
    if (daemons?.has(id) === false) {
      throw new LimpetError("SHARD_INVALID", `${type.name} has ${daemons.range}; there is no ${JSON.stringify(id)}`);
    }
    try {
      return await this.#write(type, id, true);
    } catch (error) {
      // It may be remembered all the same: then it has to run.
      this.#starter(type).later(id);
      throw error;
    }
  }

  async forget(type: ActorType, id: string): Promise<void> {
    const starter = this.#starter(type);
    if (this.#daemonsOf(type)?.has(id)) {
      // A daemon always runs: it comes back like one that stopped.
      starter.later(id);
      return;
    }
    const isOver = starter.forgets(id);
    try {
      // Who is not its home any more has nothing to say, and nothing to bring back.
      await this.#write(type, id, false);
    } catch (error) {
      starter.later(id);
      throw error;
    } finally {
      isOver();
    }
  }

  left({ type, id, isRemembered }: Activation, reason: EndReason | undefined): void {
    if (this.#isOver) return;
    if (isRemembered && COMES_BACK.has(reason)) this.#starter(type).later(id, FAILED.has(reason));
    else if (COMES_BACK_SOMEWHERE.has(reason)) this.#starter(type).doubt(id);
  }

  restartsInMs(type: ActorType, id: string): number | undefined {
    return this.#starters.get(type)?.restartsInMs(id);
  }
}

export function openTogether(
  patienceMs: number,
  world: Omit<RememberedDeps, "known">,
  membership: Membership,
): RememberedActors {
  const known: ShardKnowledge = {
    home: () => membership.incarnation,
    standing: (type, shard) => membership.standing(type, shard),
    find: (type, shards) => {
      if (membership.hasLease) membership.shards.find(type, shards);
    },
  };
  return new RememberedActors(patienceMs, { ...world, known });
}

/** For a process that is in no cluster: it is the home of everything. */
export function openAlone(patienceMs: number, world: Omit<RememberedDeps, "known">): RememberedActors {
  const { catalog } = world;
  // Which shards have any is all there is to know.
  const known: ShardKnowledge = {
    home: () => undefined,
    standing: () => (catalog.stopping ? "elsewhere" : "here"),
    find: () => {},
  };
  return new RememberedActors(patienceMs, { ...world, known });
}
