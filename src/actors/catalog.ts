// All actors of a host: the registered types, the activations in memory, and the single entry point of calls.
// It finds or creates the activation, limits their number, and deactivates idle ones. The router handles
// calls to actors that are not in memory here, unless this host is alone and owns every actor.
import { type BatchCaller, FencedBatcher } from "../kernel/batch/fenced-batcher.ts";
import { checkCallSize, LIGHT } from "../kernel/call-size.ts";
import { LimpetError } from "../kernel/errors.ts";
import { checkId, checkType } from "../kernel/names.ts";
import { didYouMean } from "../kernel/nearest.ts";
import { copiedWeight, copyValue, isPlainPrimitive, isWeightless } from "../kernel/values.ts";
import type {
  ActorHost,
  ActorTypeInfo,
  CallBufferOptions,
  EndReason,
  PrefetchedTakes,
  Remembering,
} from "../ports/actor-host.ts";
import type { Clock, Timer } from "../ports/clock.ts";
import type { CallOptions } from "../ports/host-admin.ts";
import type { Log } from "../ports/log.ts";
import type { Meter } from "../ports/meter.ts";
import type { Random } from "../ports/random.ts";
import type { ReminderWriter } from "../ports/reminder-writer.ts";
import { batchInstruments } from "../ports/store/batch-instruments.ts";
import type { ReminderKey, Settlement, Tick } from "../ports/store/reminders.ts";
import type { Commit, CommitOutcome, StateWrite, Store, Taken, TakeRequest } from "../ports/store/store.ts";
import type { WorkflowWriter } from "../ports/workflow-writer.ts";
import { Activation } from "./activation/activation.ts";
import { Deadlines } from "./activation/deadlines.ts";
import { evict } from "./activation/eviction.ts";
import { type Incarnation, lostLease } from "./activation/incarnation.ts";
import { LongTurns } from "./activation/long-turns.ts";
import { cancelled, Turn } from "./activation/turn.ts";
import { UnhandledCalls } from "./activation/unhandled-calls.ts";
import type { ActivationDeps } from "./activation-deps.ts";
import { ActorType } from "./actor-type.ts";
import type { CallTarget, HandleMaker, Send } from "./handle.ts";
import { handleMaker } from "./handle.ts";
import type { ActorDefaults } from "./options/actor-options.ts";
import { readCallSettings } from "./options/call-settings.ts";
import { looksMinified, MINIFIED_ADVICE } from "./options/minified-name.ts";
import { SHARDING_DEFAULTS } from "./options/sharded-options.ts";
import { REMIND, remindArguments } from "./outbox/remind.ts";
import { ForeignType } from "./routing/foreign-type.ts";
import { HAS_METHOD, type MissingMethod } from "./routing/missing-method.ts";
import type { ActorClass, CallSettings } from "./routing/remote.ts";

export interface CatalogSettings extends ActorDefaults {
  readonly namespace: string;
  /** Actors in memory, at most; the least recently used ones leave first. */
  readonly maxResident: number;
  readonly drainTimeoutMs: number;
  readonly storeTimeoutMs: number;
  /** True: a failed call of an actor without a handler ends the process. */
  readonly unhandledCallsCrash?: boolean | undefined;
}

export interface World {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  readonly store: Store;
}

/** Routes calls to actors that are not in memory here. */
export interface Routes {
  route(turn: Turn): void;
  /**
   * True: the sharded actor is here, but earlier calls to it have not arrived, so this call waits for them.
   */
  queueBehindEarlier(turn: Turn): boolean;
  /** A sticky actor has left memory. */
  left(type: string, id: string, reason: EndReason | undefined): void;
  /** True: some host runs actors of this type. */
  reaches(type: string): boolean;
  mayBegin(now: number): boolean;
  mayCommit(now: number): boolean;
  confirmLease(settled: (isKept: boolean) => void): void;
  askElsewhere(turn: Turn, missing: MissingMethod): void;
  /** True: no call of this host to that actor is in flight or waits. */
  isQuiet(type: string, id: string): boolean;
}

/** Types of other hosts with cached handles. */
const FOREIGN_TYPES = 1_000;

/** Interval of sweeps for idle actors; shorter timeouts make it a quarter of the shortest one. */
const SWEEP_MS = 5_000;
/** Busy actors may exceed the limit by this factor, because a caller waits for each of them. */
const BUSY_FACTOR = 2;
/** The same, including actors that are leaving. */
const LEAVING_FACTOR = 4;

export class Catalog implements ActorHost, ActivationDeps {
  readonly namespace: string;
  readonly incarnation: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly deadlines: Deadlines;
  readonly longTurns = new LongTurns();
  /** Failed calls of actors; undefined: an unhandled failure ends the process. */
  readonly unhandled: UnhandledCalls | undefined;
  readonly hookTimeoutMs: number;
  readonly types = new Map<string, ActorType>();
  /** Version of the set of types: it grows with every added or removed type. */
  edition = 0;
  readonly #makers = new Map<CallTarget, HandleMaker>();
  readonly #foreign = new Map<string, ForeignType>();
  #routes: Routes | undefined;
  readonly #byClass = new Map<ActorClass, ActorType>();
  readonly #settings: CatalogSettings;
  /** Set once, before the first call. */
  reminders: ReminderWriter | undefined;
  /** Set once, before the first call. */
  workflows: WorkflowWriter | undefined;
  /** Set once; starts remembered actors. */
  remembering: Remembering | undefined;
  #prefetched: PrefetchedTakes | undefined;
  readonly #meter: Meter;
  readonly #takes: FencedBatcher<TakeRequest, Taken>;
  readonly #commits: FencedBatcher<Commit, CommitOutcome>;
  #commitCount = 0;
  #resident = 0;
  #sweeping: Timer | undefined;
  /** True: no actor in memory can leave because it is idle. */
  #sweepsRarely = false;
  #closed = false;
  /** On the monotonic clock. */
  #drainUntil: number | undefined;
  #stopping = false;
  #whenEmpty: (() => void) | undefined;

  constructor(classes: readonly ActorClass[], settings: CatalogSettings, world: World) {
    const { clock, random, log, meter, store } = world;
    this.namespace = settings.namespace;
    this.incarnation = random.id();
    this.clock = clock;
    this.random = random;
    this.log = log;
    if (!settings.unhandledCallsCrash) this.unhandled = new UnhandledCalls();
    this.deadlines = new Deadlines(clock, this.unhandled);
    this.hookTimeoutMs = settings.drainTimeoutMs;
    this.#settings = settings;
    const shared = { clock, random, lanes: store.lanes, eager: store.eager, patienceMs: settings.storeTimeoutMs };
    this.#takes = new FencedBatcher({
      ...shared,
      ...batchInstruments(meter, "take"),
      // A repeated take only raises an epoch.
      isHarmless: true,
      weigh: () => 1,
      keyOf: ({ type, id }) => `${type.length}:${type}${id}`,
      send: (batch) => store.take(batch),
    });
    this.#commits = new FencedBatcher({
      ...shared,
      ...batchInstruments(meter, "commit"),
      weigh: weightOf,
      keyOf: ({ ref }) => ref,
      send: (batch) => store.commit(batch),
      // An unanswered attempt may have been applied before another host took the actor and committed.
      resolveAmbiguous: (outcome) => (outcome === "fenced" ? lostTrack() : outcome),
    });
    this.#meter = meter;
    for (const actorClass of classes) this.add(actorClass);
  }

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
    this.#makers.set(type, handleMaker(type, this.send));
    this.remembering?.added();
  }

  /**
   * The limits of waiting calls to a sharded type: the options of its class, or the settings if this host
   * does not have the class.
   */
  sharding(type: string): CallBufferOptions {
    return this.types.get(type)?.options.sharded ?? this.#settings.sharding ?? SHARDING_DEFAULTS;
  }

  /** No actor of the type is activated here any more. Activations in memory may end. */
  remove(type: ActorType): void {
    this.types.delete(type.name);
    this.edition++;
    this.#byClass.delete(type.actorClass);
    this.#makers.delete(type);
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  get resident(): number {
    return this.#resident;
  }

  /** True: one more actor fits without an eviction. */
  get hasRoom(): boolean {
    return this.#resident < this.#settings.maxResident;
  }

  /** From now on the cluster places actors. */
  join(routes: Routes): void {
    this.#routes = routes;
  }

  /** A type of this host, or, in a cluster, one that another host may have. */
  target(name: string): CallTarget {
    const type = this.types.get(name);
    if (type !== undefined || this.#routes === undefined) return type ?? this.typeNamed(name);
    let foreign = this.#foreign.get(name);
    if (foreign === undefined) {
      checkType(name);
      foreign = new ForeignType(name, this.#settings.callTimeoutMs);
      this.#makers.set(foreign, handleMaker(foreign, this.send));
      this.#foreign.set(name, foreign);
      if (this.#foreign.size > FOREIGN_TYPES) this.#forgetForeign();
    }
    return foreign;
  }

  #forgetForeign(): void {
    const [[name, oldest]] = this.#foreign as unknown as [[string, ForeignType]];
    this.#foreign.delete(name);
    this.#makers.delete(oldest);
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

  handle(of: ActorClass | string, id: string, settings?: CallSettings, caller?: Incarnation): object {
    const type = typeof of === "string" ? this.target(of) : (this.#byClass.get(of) ?? this.target(nameOf(of)));
    checkId(id);
    const options = settings && readCallSettings(settings);
    return this.#makers.get(type)!(id, caller, options);
  }

  /** The single entry point of calls. The id has been checked. */
  readonly send: Send = (type, id, method, args, caller, options) => {
    const parent = caller?.current;
    try {
      if (this.#closed && parent === undefined) throw stopping();
      if (method === REMIND || method === HAS_METHOD)
        throw new LimpetError("METHOD_UNKNOWN", `${type.name} has no method "${method}"`);
      if (parent?.cancelled !== undefined) throw parent.cancelled;
      if (options?.signal?.aborted) throw cancelled(`${type.name}/${id}.${method}`, options.signal.reason);
      for (let i = 0; i < args.length; i++) {
        if (isWeightless(args[i])) continue;
        copyArguments(args, i);
        break;
      }
      const timeoutMs = options?.timeoutMs ?? type.options.callTimeoutMs;
      const turn = new Turn(
        type,
        id,
        method,
        args,
        parent,
        timeoutMs,
        this.clock.monotonic(),
        this.deadlines,
        undefined,
      );
      if (caller !== undefined && parent === undefined) turn.caller = caller;
      this.deliver(turn);
      return turn.promise(options?.signal);
    } catch (error) {
      return this.#refuse(error, `${type.name}/${id}.${method}`, caller);
    }
  };

  /** Calls an actor by name. The caller has checked the names. Throws ACTOR_TYPE_UNKNOWN. */
  call(
    type: string,
    id: string,
    method: string,
    args: readonly unknown[],
    options: CallOptions | undefined,
  ): Promise<unknown> {
    return this.send(this.target(type), id, method, [...args], undefined, options);
  }

  #refuse(error: unknown, call: string, caller: Incarnation | undefined): Promise<never> {
    const refused = Promise.reject(error);
    if (caller !== undefined) {
      const { typeName: type, id, current } = caller;
      this.unhandled?.note(refused, error, { type, id, method: current?.method, call });
    }
    return refused;
  }

  /**
   * True: a failed call of an actor that no code awaited. It concerns only that actor, so the process
   * continues.
   */
  isUnhandledCall(reason: unknown, promise: Promise<unknown>): boolean {
    const failed = this.unhandled?.find(promise, reason);
    if (failed === undefined) return false;
    this.types.get(failed.type)?.instruments.unhandled.add(1);
    this.log.error("call.unhandled", { ...failed, err: reason });
    return true;
  }

  /** Delivers to the actor if it is in memory; otherwise routes the call. */
  deliver(turn: Turn): void {
    const type = turn.type as CallTarget;
    const activation = type.activations.get(turn.id) ?? this.#foundAnew(turn);
    if (activation !== undefined) {
      if (activation.type.options.sharded !== undefined && this.#routes?.queueBehindEarlier(turn) === true) return;
      activation.type.instruments.local.add(1);
      activation.submit(turn);
    } else if (this.#routes !== undefined) {
      this.#routes.route(turn);
    } else {
      this.wake(turn);
    }
  }

  /**
   * A handle may be older than the type here: the type was on another host, or was removed and added again.
   */
  #foundAnew({ type, id }: Turn): Activation | undefined {
    const known = this.types.get(type.name);
    return known === type ? undefined : known?.activations.get(id);
  }

  reroute(turn: Turn): void {
    if (this.#routes === undefined)
      turn.fail(new LimpetError("NO_HOST", `${turn.type.name} does not run here any more`));
    else this.#routes.route(turn);
  }

  askElsewhere(turn: Turn, missing: MissingMethod): boolean {
    this.#routes?.askElsewhere(turn, missing);
    return this.#routes !== undefined;
  }

  mayBegin(now: number): boolean {
    return this.#routes === undefined || this.#routes.mayBegin(now);
  }

  /** True: actors of this type run here, or on another known host. */
  reaches(type: string): boolean {
    return this.types.has(type) || this.#routes?.reaches(type) === true;
  }

  mayCommit(): boolean {
    return this.#routes === undefined || this.#routes.mayCommit(this.clock.monotonic());
  }

  confirmLease(settled: (isKept: boolean) => void): void {
    if (this.#routes === undefined) settled(true);
    else this.#routes.confirmLease(settled);
  }

  /** Activates the actor here. Throws HOST_FULL. */
  wake(turn: Turn): void {
    const type = this.typeNamed(turn.type.name);
    type.instruments.local.add(1);
    this.#open(type, turn.id).submit(turn);
  }

  /**
   * Activates a remembered actor without a call. `isKnown`: the store already remembers it. Resolves when it
   * is active.
   */
  async start(known: ActorTypeInfo, id: string, isKnown: boolean): Promise<void> {
    const type = this.types.get(known.name);
    if (this.#stopping || type === undefined || type !== known || type.activations.has(id)) return;
    // Calls to an active actor bypass routing, so activating it now would let them overtake calls still in
    // flight.
    if (this.#routes?.isQuiet(type.name, id) === false)
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
      const room = evict([...this.types.values()]) ? LEAVING_FACTOR : BUSY_FACTOR;
      if (this.#resident >= maxResident * room) {
        throw new LimpetError("HOST_FULL", `${this.#resident} actors are in memory and all of them are busy`);
      }
    }
    const activation = new Activation(type, id, this);
    type.activations.set(id, activation);
    type.useOrder.add(activation);
    type.byShard?.add(activation);
    this.#resident++;
    this.#sweepLater(type);
    return activation;
  }

  gone(activation: Activation, reason: EndReason | undefined): void {
    activation.type.activations.delete(activation.id);
    activation.type.useOrder.remove(activation);
    activation.type.byShard?.delete(activation);
    this.#resident--;
    if (activation.type.options.sticky !== undefined) this.#routes?.left(activation.type.name, activation.id, reason);
    if (activation.type.isRemembered) this.remembering?.left(activation, reason);
    activation.onGone?.();
    if (this.#resident === 0) this.#whenEmpty?.();
  }

  /**
   * Deactivates every actor of a type for which `stays` is false. Running turns may end within `timeoutMs`,
   * and waiting calls are routed again. Resolves with the number of actors when all have left.
   */
  moveAway(type: ActorType, stays: (id: string) => boolean, timeoutMs: number): Promise<number> {
    const movers = [...type.activations.values()].filter(({ id }) => !stays(id));
    return this.letGo(movers, timeoutMs);
  }

  /** The same for these activations. */
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

  /** The lease is lost: no activation in memory counts any more. */
  dropAll(): number {
    // A take that is retried after this would fence the actor on its next host.
    this.#takes.giveUp();
    const all = [...this.#all()];
    for (const activation of all) activation.cutOff("lease", lostLease);
    return all.length;
  }

  take(type: string, id: string): Promise<Taken> {
    return this.#prefetched?.claim(type, id) ?? this.takeAhead(type, id);
  }

  usePrefetched(source: PrefetchedTakes): void {
    this.#prefetched = source;
  }

  /** The same for an actor that does not live here yet. */
  takeAhead(type: string, id: string): Promise<Taken> {
    return this.#takes.submit({ namespace: this.namespace, type, id, owner: this.incarnation });
  }

  commit(
    ref: number,
    epoch: number,
    version: number,
    write: StateWrite,
    extras: Pick<Commit, "settle" | "reminders" | "starts" | "arrivals"> | undefined,
    caller: BatchCaller<CommitOutcome>,
  ): void {
    const id = `${this.incarnation}.${(++this.#commitCount).toString(36)}`;
    const commit = { ref, epoch, version, id, write };
    this.#commits.send(extras === undefined ? commit : { ...commit, ...extras }, caller);
  }

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

  /** Delivers a tick to its actor on any host. Resolves with true if the tick is settled. */
  remind({ type, id, name }: ReminderKey, data: string | undefined, tick: Tick, settled: Settlement): Promise<boolean> {
    try {
      const target = this.target(type);
      const args = remindArguments(name, data, tick, settled);
      const { clock, deadlines } = this;
      const { callTimeoutMs } = target.options;
      const now = clock.monotonic();
      const turn = new Turn(target, id, REMIND, args, undefined, callTimeoutMs, now, deadlines, undefined);
      this.deliver(turn);
      return turn.promise(undefined) as Promise<boolean>;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Nothing is swept while no actor is in memory. `opened`: type of a just activated actor. */
  #sweepLater(opened?: ActorType): void {
    if (this.#resident === 0 || this.#stopping) return;
    if (this.#sweeping !== undefined) {
      if (!this.#sweepsRarely || opened?.staysWhenIdle === true) return;
      this.#sweeping.cancel();
    }
    let every = SWEEP_MS;
    let rarely = Number.POSITIVE_INFINITY;
    this.#sweepsRarely = true;
    for (const { options, activations, staysWhenIdle } of this.types.values()) {
      every = Math.min(every, options.idleTimeoutMs / 4);
      rarely = Math.min(rarely, options.idleTimeoutMs);
      if (activations.size > 0 && !staysWhenIdle) this.#sweepsRarely = false;
    }
    // Sticky and remembered actors are only counted, once each, when they have become idle.
    if (this.#sweepsRarely) every = rarely;
    const sweep = (): void => {
      this.#sweeping = undefined;
      this.#sweep();
      this.#sweepLater();
    };
    this.#sweeping = this.clock.after(every, sweep, "background");
  }

  #sweep(): void {
    const now = this.clock.monotonic();
    for (const type of this.types.values()) {
      const { useOrder, options, instruments, limit, isRemembered } = type;
      limit?.makeRoom(type, 0);
      if (isRemembered) continue;
      if (options.sticky !== undefined) {
        instruments.idleSkipped.add(useOrder.countIdle(now - options.idleTimeoutMs));
        continue;
      }
      let at = useOrder.oldest;
      while (at !== undefined && now - at.lastUsed >= options.idleTimeoutMs) {
        const newer: Activation | undefined = at.newer;
        if (at.idle) at.deactivate("idle");
        at = newer;
      }
    }
  }

  /** Updates the gauges; called when the metrics are read. */
  measure(): void {
    this.remembering?.measure();
    for (const { instruments, activations } of this.types.values()) instruments.active.set(activations.size);
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
    this.#sweeping?.cancel();
    for (const activation of this.#all()) activation.deactivate("stop");
    if (this.#resident > 0) await this.#drained();
    // A take that is retried after this would fence the actor on its next host.
    this.#takes.giveUp();
    this.#commits.giveUp();
    this.remembering?.close();
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

  *#all(): Generator<Activation> {
    for (const type of this.types.values()) yield* type.activations.values();
  }
}

/** Replaces each argument by a copy, from the first argument with a weight. Throws ARGUMENT_INVALID. */
function copyArguments(args: unknown[], first: number): void {
  let weight = 0;
  for (let i = first; i < args.length; i++) {
    const arg = args[i];
    if (typeof arg === "string") weight += arg.length;
    else if (!isPlainPrimitive(arg)) {
      args[i] = copyValue(arg, `argument ${i + 1}`, "ARGUMENT_INVALID");
      weight += copiedWeight();
    }
  }
  if (weight > LIGHT) checkCallSize(args, "the arguments", "ARGUMENT_INVALID");
}

function weightOf({ write, reminders, starts, arrivals }: Commit): number {
  let weight = "data" in write ? write.data.length : 0;
  for (const one of reminders ?? []) weight += one.kind === "set" ? (one.content.data?.length ?? 0) + 200 : 100;
  for (const { first } of starts ?? []) weight += first.data.length + 500;
  for (const { data } of arrivals ?? []) weight += data.length + 200;
  return weight;
}

const lostTrack = (): LimpetError =>
  new LimpetError(
    "COMMIT_UNKNOWN",
    "the answer of the store was lost and the actor taken over; the turn may count or not",
  );

const movedTooSlowly = (turn: Turn): LimpetError =>
  new LimpetError("CALL_CANCELLED", `${turn.label} took too long while its actor moved; nothing of this turn was kept`);

/** A commit may be in progress, so the answer must not claim that nothing happened. */
const stoppedTooSoon = (turn: Turn): LimpetError =>
  new LimpetError("CALL_CANCELLED", `the process stopped before ${turn.label} had ended`);

const nameOf = (actorClass: ActorClass): string => actorClass?.options?.name ?? actorClass?.name;

const stopping = (): LimpetError => new LimpetError("STOPPING", "this process is stopping");
