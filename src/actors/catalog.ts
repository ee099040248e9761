// All actors of a host: the registered types and the activations in memory. It opens activations, limits
// their number, moves them away, and ends them when the process stops. `calls` is the entrance of calls,
// `store` reads and writes stored state, and `routing` finds actors of other hosts.
import { invariant, LimpetError } from "../kernel/errors.ts";
import { didYouMean } from "../kernel/nearest.ts";
import type { ActorHost, ActorTypeInfo, CallBufferOptions, EndReason, PrefetchedTakes } from "../ports/actor-host.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Meter } from "../ports/meter.ts";
import type { Random } from "../ports/random.ts";
import type { ReminderKey, Settlement, Tick } from "../ports/store/reminders.ts";
import type { Taken } from "../ports/store/store.ts";
import { Activation } from "./activation/activation.ts";
import { Deadlines } from "./activation/deadlines.ts";
import { evict, IdleSweeper, type IdleSweeperDeps } from "./activation/idle-sweeper.ts";
import { LongTurns } from "./activation/long-turns.ts";
import { lostLease } from "./activation/reply.ts";
import type { Turn } from "./activation/turn.ts";
import { UnhandledCalls } from "./activation/unhandled-calls.ts";
import type { ActivationDeps, ActorFeatures } from "./activation-deps.ts";
import { ActorType } from "./actor-type.ts";
import { Ingress, type IngressDeps, stopping } from "./ingress.ts";
import { type ActorDefaults, looksMinified, MINIFIED_ADVICE } from "./options/actor-options.ts";
import { SHARDING_DEFAULTS } from "./options/sharded-options.ts";
import { type ActorRouting, LocalRouting } from "./routing/actor-routing.ts";
import type { ActorClass } from "./routing/remote.ts";
import { StoreGateway, type StoreGatewayDeps } from "./store-gateway.ts";

export interface CatalogSettings extends ActorDefaults {
  readonly namespace: string;
  /** Actors in memory, at most; the least recently used ones leave first. */
  readonly maxResident: number;
  readonly drainTimeoutMs: number;
  readonly storeTimeoutMs: number;
  /** True: a failed call of an actor without a handler ends the process. */
  readonly unhandledCallsCrash?: boolean;
}

export interface CatalogDeps extends StoreGatewayDeps {
  readonly log: Log;
}

/** Busy actors may exceed the limit by this factor, because a caller waits for each of them. */
const BUSY_FACTOR = 2;
/** The same, including actors that are leaving. */
const LEAVING_FACTOR = 4;

export class Catalog implements ActorHost, ActivationDeps, IngressDeps, IdleSweeperDeps {
  readonly namespace: string;
  readonly incarnation: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly deadlines: Deadlines;
  readonly longTurns = new LongTurns();
  readonly hookTimeoutMs: number;
  readonly types = new Map<string, ActorType>();
  edition = 0;
  readonly calls: Ingress;
  readonly store: StoreGateway;
  /** A host is alone until it joins a cluster. */
  routing: ActorRouting = new LocalRouting(this);
  features: ActorFeatures = { reminders: undefined, workflows: undefined, remembering: undefined };
  readonly #byClass = new Map<ActorClass, ActorType>();
  readonly #settings: CatalogSettings;
  readonly #meter: Meter;
  readonly #sweeper = new IdleSweeper(this);
  #resident = 0;
  #closed = false;
  /** On the monotonic clock. */
  #drainUntil: number | undefined;
  #stopping = false;
  #whenEmpty: (() => void) | undefined;

  constructor(classes: readonly ActorClass[], settings: CatalogSettings, deps: CatalogDeps) {
    const { clock, random, log, meter } = deps;
    this.namespace = settings.namespace;
    this.incarnation = random.id();
    this.clock = clock;
    this.random = random;
    this.log = log;
    this.deadlines = new Deadlines(clock, settings.unhandledCallsCrash ? undefined : new UnhandledCalls());
    this.hookTimeoutMs = settings.drainTimeoutMs;
    this.calls = new Ingress(settings.callTimeoutMs, this);
    this.store = new StoreGateway(this.namespace, this.incarnation, settings.storeTimeoutMs, deps);
    this.#settings = settings;
    this.#meter = meter;
    for (const actorClass of classes) this.add(actorClass);
  }

  /** Connects other features, each once and before the first call: they need the catalog themselves. */
  connect(features: Partial<ActorFeatures>): void {
    for (const name of Object.keys(features) as (keyof ActorFeatures)[])
      invariant(this.features[name] === undefined, `the ${name} of actors are connected once`);
    this.features = { ...this.features, ...features };
  }

  /** From now on the cluster places actors. */
  join(routing: ActorRouting): void {
    invariant(this.routing.isAlone, "a host joins one cluster");
    this.routing = routing;
  }

  // ——— Types.

  /** Registers the class: its actors may live here from now on. */
  add(actorClass: ActorClass): void {
    const type = new ActorType(actorClass, this.#settings, this.#meter, this.namespace);
    const twin = this.types.get(type.name);
    if (twin?.actorClass === actorClass) return;
    if (twin !== undefined) {
      throw new LimpetError(
        "OPTION_INVALID",
        `two actor classes are called ${type.name}; name one in its static options`,
      );
    }
    if (looksMinified(actorClass)) this.log.warn("actor.name-minified", { type: type.name, advice: MINIFIED_ADVICE });
    const { deprecated } = type.options.sharded ?? {};
    if (deprecated !== undefined) this.log.warn("option.deprecated", { type: type.name, ...deprecated });
    this.types.set(type.name, type);
    this.edition++;
    this.#byClass.set(actorClass, type);
    this.features.remembering?.added();
  }

  /** No actor of the type is activated here any more. Activations in memory may end. */
  remove(type: ActorType): void {
    this.types.delete(type.name);
    this.edition++;
    this.#byClass.delete(type.actorClass);
  }

  typeOf(actorClass: ActorClass): ActorType | undefined {
    return this.#byClass.get(actorClass);
  }

  typeNamed(name: string): ActorType {
    const type = this.types.get(name);
    if (type !== undefined) return type;
    const known = [...this.types.keys()].join(", ") || "none";
    throw new LimpetError(
      "ACTOR_TYPE_UNKNOWN",
      `no actor type "${name}" here; known types: ${known}${didYouMean(name, this.types.keys())}`,
    );
  }

  /** The options of the class, or the settings if this host does not have the class. */
  sharding(type: string): CallBufferOptions {
    return this.types.get(type)?.options.sharded ?? this.#settings.sharding ?? SHARDING_DEFAULTS;
  }

  // ——— Activations.

  get resident(): number {
    return this.#resident;
  }

  get hasRoom(): boolean {
    return this.#resident < this.#settings.maxResident;
  }

  /** Activates the actor here. Throws HOST_FULL. */
  wake(turn: Turn): void {
    const type = this.typeNamed(turn.type.name);
    type.instruments.local.add(1);
    this.#open(type, turn.id).submit(turn);
  }

  async start(known: ActorTypeInfo, id: string, isKnown: boolean): Promise<void> {
    const type = this.types.get(known.name);
    if (this.#stopping || type === undefined || type !== known || type.activations.has(id)) return;
    // Calls to an active actor bypass routing, so activating it now would let them overtake calls still in
    // flight.
    if (!this.routing.isQuiet(type.name, id))
      throw new LimpetError("NOT_READY", `calls to ${type.name}/${id} are still in flight`);
    const activation = this.#open(type, id);
    activation.isRemembered = isKnown;
    const turn = activation.ownTurn("start", type.options.callTimeoutMs, () => undefined);
    activation.submit(turn);
    await turn.promise(undefined);
  }

  #open(type: ActorType, id: string): Activation {
    const { maxResident } = this.#settings;
    type.limit?.makeRoom(type, 1);
    if (this.#resident >= maxResident) {
      const factor = evict([...this.types.values()]) ? LEAVING_FACTOR : BUSY_FACTOR;
      if (this.#resident >= maxResident * factor) {
        throw new LimpetError("HOST_FULL", `${this.#resident} actors are in memory and all of them are busy`);
      }
    }
    const activation = new Activation(type, id, this);
    type.activations.set(id, activation);
    type.useOrder.add(activation);
    type.byShard?.add(activation);
    this.#resident++;
    this.#sweeper.plan(type);
    return activation;
  }

  gone(activation: Activation, reason: EndReason | undefined): void {
    const { type, id } = activation;
    type.activations.delete(id);
    type.useOrder.remove(activation);
    type.byShard?.delete(activation);
    this.#resident--;
    if (type.options.sticky !== undefined) this.routing.left(type.name, id, reason);
    if (type.isRemembered) this.features.remembering?.left(activation, reason);
    activation.onGone?.();
    if (this.#resident === 0) this.#whenEmpty?.();
  }

  moveAway(type: ActorType, stays: (id: string) => boolean, timeoutMs: number): Promise<number> {
    const movers = [...type.activations.values()].filter(({ id }) => !stays(id));
    return this.letGo(movers, timeoutMs);
  }

  async letGo(movers: readonly Activation[], timeoutMs: number): Promise<number> {
    if (movers.length === 0) return 0;
    const left = new Set(movers);
    await new Promise<void>((resolve) => {
      const late = this.clock.after(timeoutMs, () => {
        for (const mover of [...left]) mover.cutOff("moved", movedTooSlowly);
      });
      for (const mover of movers) {
        const before = mover.onGone;
        mover.onGone = () => {
          before?.();
          left.delete(mover);
          if (left.size > 0) return;
          late.cancel();
          resolve();
        };
      }
      for (const mover of movers) mover.moveAway();
    });
    return movers.length;
  }

  dropAll(): number {
    this.store.giveUpTakes();
    const all = [...this.#all()];
    for (const activation of all) activation.cutOff("lease", lostLease);
    return all.length;
  }

  *#all(): Generator<Activation> {
    for (const type of this.types.values()) yield* type.activations.values();
  }

  // ——— Calls and the store, for other features.

  mayBegin(now: number): boolean {
    return this.routing.mayBegin(now);
  }

  reaches(type: string): boolean {
    return this.types.has(type) || this.routing.reaches(type);
  }

  remind(key: ReminderKey, data: string | undefined, tick: Tick, settlement: Settlement): Promise<boolean> {
    return this.calls.remind(key, data, tick, settlement);
  }

  prefetch(type: string, id: string): Promise<Taken> {
    return this.store.prefetch(type, id);
  }

  usePrefetched(source: PrefetchedTakes): void {
    this.store.usePrefetched(source);
  }

  // ——— For display and metrics.

  /**
   * Turns that had begun at `since` and had not ended at `until`, on the monotonic clock; the latest first.
   */
  turnsAcross(since: number, until: number): string[] {
    const turns = this.longTurns.across(since).map(({ label, startedAt }) => ({ label, startedAt }));
    for (const { running } of this.#all()) {
      for (let turn = running; turn !== undefined; turn = turn.outer) {
        if (turn.startedAt <= since && turn.startedAt < until) turns.push(turn);
      }
    }
    return [...new Set(turns.sort((a, b) => b.startedAt - a.startedAt).map(({ label }) => label))];
  }

  /** Updates the gauges; called when the metrics are read. */
  measure(): void {
    this.features.remembering?.measure();
    for (const { instruments, activations } of this.types.values()) instruments.active.set(activations.size);
  }

  // ——— The end of the process.

  get isClosed(): boolean {
    return this.#closed;
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  /** Rejects new calls from this process. Actors continue, and may make calls of their own. */
  close(): void {
    this.#closed = true;
    this.#drainUntil ??= this.clock.monotonic() + this.#settings.drainTimeoutMs;
  }

  /** Rejects new calls, lets running turns end, and deactivates every actor. */
  async stop(): Promise<void> {
    if (this.#stopping) return;
    this.close();
    this.#stopping = true;
    this.#sweeper.stop();
    for (const activation of this.#all()) activation.deactivate("stop");
    if (this.#resident > 0) await this.#drained();
    this.store.close();
    this.features.remembering?.close();
  }

  async #drained(): Promise<void> {
    // The other parts of the process stopped since `close()`, and their time counts.
    const leftMs = Math.max(this.#drainUntil! - this.clock.monotonic(), 0);
    await new Promise<void>((resolve) => {
      const late = this.clock.after(leftMs, () => {
        this.log.warn("stop.turns-running", { actors: this.#resident });
        for (const activation of [...this.#all()]) this.#abort(activation);
        resolve();
      });
      this.#whenEmpty = () => {
        late.cancel();
        resolve();
      };
    });
  }

  /** Cuts the actor off: afterwards the process reports that none of its actors is left. */
  #abort(activation: Activation): void {
    for (const turn of [...activation.queued]) turn.cancel(stopping());
    activation.cutOff("stop", stoppedTooSoon);
  }
}

const movedTooSlowly = (turn: Turn): LimpetError =>
  new LimpetError("CALL_CANCELLED", `${turn.label} took too long while its actor moved; nothing of this turn was kept`);

/** A commit may be in progress, so the answer must not claim that nothing happened. */
const stoppedTooSoon = (turn: Turn): LimpetError =>
  new LimpetError("CALL_CANCELLED", `the process stopped before ${turn.label} had ended`);
