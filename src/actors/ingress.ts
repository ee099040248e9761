// The entrance of all calls: makes handles, copies arguments, makes a turn, and delivers it. An actor in
// memory gets the turn directly. Routing finds the actor of any other call.
import { checkCallSize, LIGHT } from "../kernel/call-size.ts";
import { LimpetError } from "../kernel/errors.ts";
import { checkId, checkType } from "../kernel/names.ts";
import { copiedWeight, copyValue, isPlainPrimitive, isWeightless } from "../kernel/values.ts";
import type { Clock } from "../ports/clock.ts";
import type { CallOptions } from "../ports/host-admin.ts";
import type { Log } from "../ports/log.ts";
import type { ReminderKey, Settlement, Tick } from "../ports/store/reminders.ts";
import type { Activation } from "./activation/activation.ts";
import type { Deadlines } from "./activation/deadlines.ts";
import type { LifeContext } from "./activation/life-context.ts";
import { cancelled, Turn } from "./activation/turn.ts";
import type { ActorType } from "./actor-type.ts";
import { type CallTarget, type HandleMaker, handleMaker, type Send } from "./handle.ts";
import { readCallSettings } from "./options/call-settings.ts";
import { REMIND, remindArguments } from "./outbox/remind.ts";
import type { ActorRouting } from "./routing/actor-routing.ts";
import { HAS_METHOD } from "./routing/missing-method.ts";
import type { ActorClass, CallSettings } from "./routing/remote.ts";

export interface IngressDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly deadlines: Deadlines;
  readonly types: ReadonlyMap<string, ActorType>;
  readonly routing: ActorRouting;
  /** True: only actors may make calls, because the process stops. */
  readonly isClosed: boolean;
  /** Throws ACTOR_TYPE_UNKNOWN. */
  typeNamed(name: string): ActorType;
  typeOf(actorClass: ActorClass): ActorType | undefined;
}

/** Types of other hosts with cached handles. */
const FOREIGN_TYPES = 1_000;

export class Ingress {
  readonly #deps: IngressDeps;
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  readonly #callTimeoutMs: number;
  readonly #foreign = new Map<string, ForeignType>();

  /** `callTimeoutMs`: timeout of calls to types that only other hosts have. */
  constructor(callTimeoutMs: number, deps: IngressDeps) {
    this.#callTimeoutMs = callTimeoutMs;
    this.#deps = deps;
    this.#clock = deps.clock;
    this.#deadlines = deps.deadlines;
  }

  /** A type of this host, or, in a cluster, one that another host may have. */
  target(name: string): CallTarget {
    const type = this.#deps.types.get(name);
    if (type !== undefined || this.#deps.routing.isAlone) return type ?? this.#deps.typeNamed(name);
    let foreign = this.#foreign.get(name);
    if (foreign === undefined) {
      checkType(name);
      foreign = new ForeignType(name, this.#callTimeoutMs);
      this.#foreign.set(name, foreign);
      if (this.#foreign.size > FOREIGN_TYPES) this.#forgetForeign();
    }
    return foreign;
  }

  #forgetForeign(): void {
    const [oldest] = this.#foreign.keys() as unknown as [string];
    this.#foreign.delete(oldest);
  }

  handle(of: ActorClass | string, id: string, settings?: CallSettings, caller?: LifeContext): object {
    const type = typeof of === "string" ? this.target(of) : (this.#deps.typeOf(of) ?? this.target(nameOf(of)));
    checkId(id);
    const options = settings && readCallSettings(settings);
    type.makeHandle ??= handleMaker(type, this.send);
    return type.makeHandle(id, caller, options);
  }

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

  /** The id has been checked. */
  readonly send: Send = (type, id, method, args, caller, options) => {
    const parent = caller?.current;
    try {
      if (this.#deps.isClosed && parent === undefined) throw stopping();
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
      const now = this.#clock.monotonic();
      const deadlines = this.#deadlines;
      const turn = new Turn({ type, id, method, args, parent, timeoutMs, now, deadlines, work: undefined });
      if (caller !== undefined && parent === undefined) turn.caller = caller;
      this.deliver(turn);
      return turn.promise(options?.signal);
    } catch (error) {
      return this.#reject(error, `${type.name}/${id}.${method}`, caller);
    }
  };

  #reject(error: unknown, call: string, caller: LifeContext | undefined): Promise<never> {
    const rejected = Promise.reject(error);
    if (caller !== undefined) {
      const { typeName: type, id, current } = caller;
      this.#deadlines.unhandled?.note(rejected, error, { type, id, method: current?.method, call });
    }
    return rejected;
  }

  /**
   * True: a failed call of an actor that no code awaited. It concerns only that actor, so the process
   * continues.
   */
  isUnhandledCall(reason: unknown, promise: Promise<unknown>): boolean {
    const failed = this.#deadlines.unhandled?.find(promise, reason);
    if (failed === undefined) return false;
    this.#deps.types.get(failed.type)?.instruments.unhandled.add(1);
    this.#deps.log.error("call.unhandled", { ...failed, err: reason });
    return true;
  }

  /** Delivers a tick to its actor on any host. Resolves with true if the tick is settled. */
  remind({ type, id, name }: ReminderKey, data: string | undefined, tick: Tick, settled: Settlement): Promise<boolean> {
    try {
      const target = this.target(type);
      const turn = new Turn({
        type: target,
        id,
        method: REMIND,
        args: remindArguments(name, data, tick, settled),
        parent: undefined,
        timeoutMs: target.options.callTimeoutMs,
        now: this.#clock.monotonic(),
        deadlines: this.#deadlines,
        work: undefined,
      });
      this.deliver(turn);
      return turn.promise(undefined) as Promise<boolean>;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Delivers to the actor if it is in memory; otherwise routes the call. */
  deliver(turn: Turn): void {
    const type = turn.type as CallTarget;
    const activation = type.activations.get(turn.id) ?? this.#foundAnew(turn);
    if (activation === undefined) {
      this.#deps.routing.route(turn);
      return;
    }
    if (activation.type.options.sharded !== undefined && this.#deps.routing.queueBehindEarlier(turn)) return;
    activation.type.instruments.local.add(1);
    activation.submit(turn);
  }

  /**
   * A handle may be older than the type here: the type was on another host, or was removed and added again.
   */
  #foundAnew({ type, id }: Turn): Activation | undefined {
    const known = this.#deps.types.get(type.name);
    return known === type ? undefined : known?.activations.get(id);
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

const nameOf = (actorClass: ActorClass): string => actorClass?.options?.name ?? actorClass?.name;

/** The error of calls to a process that stops. */
export const stopping = (): LimpetError => new LimpetError("STOPPING", "this process is stopping");

const NOTHING: ReadonlyMap<string, Activation> = new Map();
const UNKNOWN: ReadonlySet<string> = new Set();

/** A type that only other hosts have: it can be called, and nothing of it is ever in memory here. */
class ForeignType implements CallTarget {
  readonly name: string;
  readonly options: { readonly callTimeoutMs: number };
  readonly methods = UNKNOWN;
  readonly activations = NOTHING;
  readonly instruments = undefined;
  makeHandle: HandleMaker | undefined;

  constructor(name: string, callTimeoutMs: number) {
    this.name = name;
    this.options = { callTimeoutMs };
  }
}
