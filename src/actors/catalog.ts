// All actors of a host: the types it knows, who is in memory, and the one way in for a call. Finds or wakes
// the activation, keeps their number within its limit, and lets the idle ones go. Calls of actors that are
// not in memory here are the router's business, unless this host is alone: then every actor is its own.
import { checkCallSize, LIGHT } from "../kernel/call-size.ts";
import { LimpetError } from "../kernel/errors.ts";
import { checkId, checkType } from "../kernel/names.ts";
import { didYouMean } from "../kernel/nearest.ts";
import { copiedWeight, copyValue, isPlainPrimitive, isWeightless } from "../kernel/values.ts";
import type { Clock, Timer } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Meter } from "../ports/meter.ts";
import type { Random } from "../ports/random.ts";
import type { ReminderWriter } from "../ports/reminder-writer.ts";
import type { Commit, CommitOutcome, StateWrite, Store, Taken, TakeRequest } from "../ports/store/store.ts";
import type { WorkflowWriter } from "../ports/workflow-writer.ts";
import { Activation, type EndReason } from "./activation/activation.ts";
import { Deadlines } from "./activation/deadlines.ts";
import { evict } from "./activation/eviction.ts";
import { type Incarnation, lostLease } from "./activation/incarnation.ts";
import { LongTurns } from "./activation/long-turns.ts";
import { cancelled, Turn } from "./activation/turn.ts";
import { UnhandledCalls } from "./activation/unhandled-calls.ts";
import type { ActivationDeps } from "./activation-deps.ts";
import { ActorType } from "./actor-type.ts";
import { type Caller, GroupCall } from "./group-call.ts";
import type { CallTarget, HandleMaker, Send } from "./handle.ts";
import { handleMaker } from "./handle.ts";
import { storeInstruments } from "./instruments.ts";
import type { ActorDefaults } from "./options/actor-options.ts";
import { readCallSettings } from "./options/call-settings.ts";
import { looksMinified, MINIFIED_ADVICE } from "./options/minified-name.ts";
import { SHARDING_DEFAULTS, type ShardingDefaults } from "./options/sharded-options.ts";
import { REMIND, type RemindArguments } from "./outbox/remind.ts";
import type { Remembering } from "./remembering.ts";
import { ForeignType } from "./routing/foreign-type.ts";
import { HAS_METHOD, type MissingMethod } from "./routing/missing-method.ts";
import type { ActorClass, CallSettings } from "./routing/remote.ts";

export interface CatalogSettings extends ActorDefaults {
  readonly namespace: string;
  /** Actors in memory; beyond it the least recently used ones leave. */
  readonly maxResident: number;
  readonly drainTimeoutMs: number;
  readonly storeTimeoutMs: number;
  /** A call of an actor that fails without a handler ends the process. */
  readonly unhandledCallsCrash?: boolean | undefined;
}

export interface World {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  readonly store: Store;
}

/** How a call finds an actor that is not in memory here. */
export interface Routes {
  route(turn: Turn): void;
  /** True: its sharded actor is here, but earlier calls to it are not, and this one has to wait for them. */
  queueBehindEarlier(turn: Turn): boolean;
  /** A sticky actor has left memory. */
  left(type: string, id: string, reason: EndReason | undefined): void;
  /** Whether somebody runs actors of this type. */
  reaches(type: string): boolean;
  mayBegin(now: number): boolean;
  mayCommit(now: number): boolean;
  confirmLease(settled: (isKept: boolean) => void): void;
  askElsewhere(turn: Turn, missing: MissingMethod): void;
  /** No call of this host to that actor is on its way or waits. */
  isQuiet(type: string, id: string): boolean;
}

/** Names of types of other hosts for which handles are kept ready. */
const FOREIGN_TYPES = 1_000;

/** Idle actors are looked for this often, or four times within the shortest idle timeout. */
const SWEEP_MS = 5_000;
/** Beyond the limit there is room for actors that are busy, because somebody waits for each of them. */
const BUSY_FACTOR = 2;
/** And for those that are on their way out. */
const LEAVING_FACTOR = 4;

export class Catalog implements ActivationDeps {
  readonly namespace: string;
  readonly incarnation: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly deadlines: Deadlines;
  readonly longTurns = new LongTurns();
  /** Failed calls of actors; undefined: one that is unhandled ends the process. */
  readonly unhandled: UnhandledCalls | undefined;
  readonly hookTimeoutMs: number;
  readonly types = new Map<string, ActorType>();
  /** Of the types: a higher one when one came or went. */
  edition = 0;
  readonly #makers = new Map<CallTarget, HandleMaker>();
  readonly #foreign = new Map<string, ForeignType>();
  #routes: Routes | undefined;
  readonly #byClass = new Map<ActorClass, ActorType>();
  readonly #settings: CatalogSettings;
  /** Set once, before the first call. */
  reminders: ReminderWriter | undefined;
  /** So are workflows. */
  workflows: WorkflowWriter | undefined;
  /** And whoever brings remembered actors back to life. */
  remembering: Remembering | undefined;
  /** And whoever takes actors before their shard is here. */
  takenAhead: { claim(type: string, id: string): Promise<Taken> | undefined } | undefined;
  readonly #meter: Meter;
  readonly #takes: GroupCall<TakeRequest, Taken>;
  readonly #commits: GroupCall<Commit, CommitOutcome>;
  #commitCount = 0;
  #resident = 0;
  #sweeping: Timer | undefined;
  /** No actor in memory leaves it by being idle. */
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
    this.#takes = new GroupCall({
      ...shared,
      ...storeInstruments(meter, "take"),
      // It raises an epoch at most.
      isHarmless: true,
      weigh: () => 1,
      actorOf: ({ type, id }) => `${type.length}:${type}${id}`,
      send: (batch) => store.take(batch),
    });
    this.#commits = new GroupCall({
      ...shared,
      ...storeInstruments(meter, "commit"),
      weigh: weightOf,
      actorOf: ({ ref }) => ref,
      send: (batch) => store.commit(batch),
      // An attempt without an answer may have been applied before somebody else took the actor and moved on.
      inDoubt: (outcome) => (outcome === "fenced" ? lostTrack() : outcome),
    });
    this.#meter = meter;
    for (const actorClass of classes) this.add(actorClass);
  }

  /** From now on actors of this class may live here. */
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
    if (looksMinified(actorClass)) this.log.warn("actor.name_minified", { type: type.name, advice: MINIFIED_ADVICE });
    this.types.set(type.name, type);
    this.edition++;
    this.#byClass.set(actorClass, type);
    this.#makers.set(type, handleMaker(type, this.send));
    this.remembering?.added();
  }

  /**
   * The limits of waiting calls to a sharded type: those of its class, or the settings if this host does not
   * have the class.
   */
  sharding(type: string): Pick<ShardingDefaults, "bufferSize" | "retryMs"> {
    return this.types.get(type)?.options.sharded ?? this.#settings.sharding ?? SHARDING_DEFAULTS;
  }

  /** Nothing of the type comes to life here any more. What is in memory may end. */
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

  /** One more may come without another one having to go. */
  get hasRoom(): boolean {
    return this.#resident < this.#settings.maxResident;
  }

  /** From now on actors live where the cluster says. */
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
      `there is no actor type "${name}" here; there are: ${known}${didYouMean(name, this.types.keys())}`,
    );
  }

  handle(of: ActorClass | string, id: string, settings?: CallSettings, caller?: Incarnation): object {
    const type = typeof of === "string" ? this.target(of) : (this.#byClass.get(of) ?? this.target(nameOf(of)));
    checkId(id);
    const options = settings && readCallSettings(settings);
    return this.#makers.get(type)!(id, caller, options);
  }

  /** The one way in. The id has been checked. */
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

  #refuse(error: unknown, call: string, caller: Incarnation | undefined): Promise<never> {
    const refused = Promise.reject(error);
    if (caller !== undefined) {
      const { typeName: type, id, current } = caller;
      this.unhandled?.note(refused, error, { type, id, method: current?.method, call });
    }
    return refused;
  }

  /**
   * Nothing waited for a call of an actor, and it failed: that is the business of that actor, and of no other
   * on this host.
   */
  isUnhandledCall(reason: unknown, promise: Promise<unknown>): boolean {
    const failed = this.unhandled?.find(promise, reason);
    if (failed === undefined) return false;
    this.types.get(failed.type)?.instruments.unhandled.add(1);
    this.log.error("call.unhandled", { ...failed, err: reason });
    return true;
  }

  /** To the actor if it is in memory; otherwise its way has to be found. */
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
   * A handle may be older than its type is here: it was another host's, or came back after it was removed.
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

  /** Whether actors of this type run here, or on another host that is known. */
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

  /** The actor comes to life here. Throws HOST_FULL. */
  wake(turn: Turn): void {
    const type = this.typeNamed(turn.type.name);
    type.instruments.local.add(1);
    this.#open(type, turn.id).submit(turn);
  }

  /**
   * A remembered actor comes to life here, without a call. `isKnown`: that it is remembered is sure. Resolves
   * when it has.
   */
  async start(type: ActorType, id: string, isKnown: boolean): Promise<void> {
    if (this.#stopping || type.activations.has(id) || this.types.get(type.name) !== type) return;
    // Who is in memory is called without looking for the way: those that are still on theirs would be
    // overtaken.
    if (this.#routes?.isQuiet(type.name, id) === false)
      throw new LimpetError("NOT_READY", `calls to ${type.name}/${id} are on their way`);
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
   * Lets go of every actor of a type that does not stay: turns that run may end within `timeoutMs`, what
   * waits finds its way again. Resolves with their number when none of them is left.
   */
  moveAway(type: ActorType, stays: (id: string) => boolean, timeoutMs: number): Promise<number> {
    const movers = [...type.activations.values()].filter(({ id }) => !stays(id));
    return this.letGo(movers, timeoutMs);
  }

  /** The same for these. */
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

  /** The lease is lost: nothing of what is in memory counts any more. */
  dropAll(): number {
    // A take that is tried once more when all of it is over would end the life of an actor on the host that
    // has it now.
    this.#takes.giveUp();
    const all = [...this.#all()];
    for (const activation of all) activation.cutOff("lease", lostLease);
    return all.length;
  }

  take(type: string, id: string): Promise<Taken> {
    return this.takenAhead?.claim(type, id) ?? this.takeAhead(type, id);
  }

  /** The same for one that does not live here yet. */
  takeAhead(type: string, id: string): Promise<Taken> {
    return this.#takes.submit({ namespace: this.namespace, type, id, owner: this.incarnation });
  }

  commit(
    ref: number,
    epoch: number,
    version: number,
    write: StateWrite,
    extras: Pick<Commit, "settle" | "reminders" | "starts" | "arrivals"> | undefined,
    caller: Caller<CommitOutcome>,
  ): void {
    const id = `${this.incarnation}.${(++this.#commitCount).toString(36)}`;
    const commit = { ref, epoch, version, id, write };
    this.#commits.send(extras === undefined ? commit : { ...commit, ...extras }, caller);
  }

  /**
   * Turns here that had begun at `since` and had not ended at `until`, on the monotonic clock; the latest
   * first.
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

  /** Delivers a tick to its actor, wherever it lives. Resolves with whether it is settled. */
  remind(type: string, id: string, args: RemindArguments): Promise<boolean> {
    try {
      const target = this.target(type);
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

  /** While nobody is in memory there is nothing to sweep. */
  /** `opened`: the type of an actor that has just come to life. */
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
    // Actors that stay are only counted, once each, when they have become idle.
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

  /** Brings the gauges up to date; called when somebody looks. */
  measure(): void {
    this.remembering?.measure();
    for (const { instruments, activations } of this.types.values()) instruments.active.set(activations.size);
  }

  /** Refuses new calls from this process. Actors go on, also with calls of their own. */
  close(): void {
    this.#closed = true;
    this.#drainUntil ??= this.clock.monotonic() + this.#settings.drainTimeoutMs;
  }

  /** Refuses new calls, lets what runs come to its end, and lets every actor go. */
  async stop(): Promise<void> {
    if (this.#stopping) return;
    this.close();
    this.#stopping = true;
    this.#sweeping?.cancel();
    for (const activation of this.#all()) activation.deactivate("stop");
    if (this.#resident > 0) await this.#drained();
    // A take that is retried after this would fence the actor on the host that has it next.
    this.#takes.giveUp();
  }

  async #drained(): Promise<void> {
    // Since it was closed the rest of the process was stopped, which counts.
    const leftMs = Math.max(this.#drainUntil! - this.clock.monotonic(), 0);
    await new Promise<void>((resolve) => {
      const late = this.clock.after(leftMs, () => {
        this.log.warn("stopped with turns still running", { actors: this.#resident });
        for (const activation of [...this.#all()]) this.#abort(activation);
        resolve();
      });
      this.#whenEmpty = () => {
        late.cancel();
        resolve();
      };
    });
  }

  /** Nothing more of it counts: after this the process says that nothing of it is left. */
  #abort(activation: Activation): void {
    for (const turn of [...activation.queued]) turn.cancel(stopping());
    activation.cutOff("stop", stoppedTooSoon);
  }

  *#all(): Generator<Activation> {
    for (const type of this.types.values()) yield* type.activations.values();
  }
}

/** Replaces each argument by a copy, from the first one that has a weight. Throws ARGUMENT_INVALID. */
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

/** A commit may be under way, so its caller must not be told that nothing happened. */
const stoppedTooSoon = (turn: Turn): LimpetError =>
  new LimpetError("CALL_CANCELLED", `the process stopped before ${turn.label} had ended`);

const nameOf = (actorClass: ActorClass): string => actorClass?.options?.name ?? actorClass?.name;

const stopping = (): LimpetError => new LimpetError("STOPPING", "this process is stopping");
