// A registered class of actors: its options, its callable methods, and its activations in memory.
import { LimpetError } from "../kernel/errors.ts";
import type { ActorTypeInfo } from "../ports/actor-host.ts";
import type { Meter } from "../ports/meter.ts";
import type { Activation } from "./activation/activation.ts";
import { ActiveLimit } from "./activation/active-limit.ts";
import { UseOrder } from "./activation/use-order.ts";
import { Actor, type OwnMethod, RESERVED } from "./actor.ts";
import type { HandleMaker } from "./handle.ts";
import type { TypeInstruments } from "./instruments.ts";
import { typeInstruments } from "./instruments.ts";
import type { ActorDefaults, ResolvedOptions } from "./options/actor-options.ts";
import { resolveOptions } from "./options/actor-options.ts";
import { noHandler } from "./outbox/remind.ts";
import { ByShard } from "./routing/by-shard.ts";
import { MissingMethod } from "./routing/missing-method.ts";
import type { ActorClass, AnyActor } from "./routing/remote.ts";

export function isActorClass(value: unknown): value is ActorClass {
  return typeof value === "function" && value.prototype instanceof Actor;
}

export class ActorType implements ActorTypeInfo {
  readonly actorClass: ActorClass;
  readonly options: ResolvedOptions;
  readonly instruments: TypeInstruments;
  /** Public methods of the class. Functions in fields are found on the instance. */
  readonly methods: ReadonlySet<string>;
  /** Only an actor with `initial()` has state, and needs the store. */
  readonly stateful: boolean;
  readonly hasOnActivate: boolean;
  readonly hasOnDeactivate: boolean;
  readonly activations = new Map<string, Activation>();
  readonly useOrder = new UseOrder();
  makeHandle: HandleMaker | undefined;
  /** Undefined: the type is not sharded. */
  readonly byShard: ByShard | undefined;
  /** Undefined: only the host's own limit applies. */
  readonly limit: ActiveLimit | undefined;

  constructor(actorClass: ActorClass, defaults: ActorDefaults, meter: Meter, namespace: string) {
    this.actorClass = actorClass;
    this.options = resolveOptions(actorClass.name, actorClass.options ?? {}, defaults);
    this.instruments = typeInstruments(meter, namespace, this.options.name);
    const { sharded } = this.options;
    if (sharded !== undefined) this.byShard = new ByShard(sharded.shardOf);
    if (sharded?.maxActive !== undefined) this.limit = new ActiveLimit(sharded.maxActive);
    const prototype = actorClass.prototype as AnyActor;
    this.methods = methodsOf(prototype);
    this.stateful = typeof prototype.initial === "function";
    this.hasOnActivate = prototype.onActivate !== Actor.prototype.onActivate;
    this.hasOnDeactivate = prototype.onDeactivate !== Actor.prototype.onDeactivate;
    refuseHidden(this.name, prototype);
  }

  /** Throws REMINDER_INVALID when the class has no handler for ticks. */
  checkReminders(): void {
    checkReminders(this.name, this.actorClass);
  }

  get name(): string {
    return this.options.name;
  }

  /** Hosts start its actors again without a call, so they stay in memory. */
  get isRemembered(): boolean {
    return this.options.sharded?.remembered !== undefined;
  }

  /** True: no actor of the type leaves memory because it is idle, or because its type exceeds a limit. */
  get staysWhenIdle(): boolean {
    return this.limit === undefined && (this.isRemembered || this.options.sticky !== undefined);
  }

  /** The function to run for a call. Throws an error that names the known methods. */
  methodOf(instance: AnyActor, method: string): (...args: readonly unknown[]) => unknown {
    if (this.methods.has(method) || (isCallable(method) && Object.hasOwn(instance, method))) {
      const found = (instance as unknown as Record<string, unknown>)[method];
      if (typeof found === "function") return found as (...args: readonly unknown[]) => unknown;
    }
    throw new MissingMethod(this.name, method, this.methods);
  }
}

/** Throws REMINDER_INVALID when ticks would reach no user code. */
export function checkReminders(type: string, actorClass: ActorClass): void {
  const { onReminder } = actorClass.prototype as AnyActor;
  if (onReminder === Actor.prototype.onReminder && !mentions(actorClass, "onReminder")) throw noHandler(type);
}

/** A class may define these methods itself; callers may then call them. */
const OVERRIDABLE: ReadonlySet<string> = new Set<OwnMethod>(["clear", "deactivate", "passivate"]);

const isCallable = (name: string): boolean => !RESERVED.has(name) && !name.startsWith("_");

/** A function in a field exists only on an instance. */
function mentions(actorClass: ActorClass, name: string): boolean {
  for (let at: unknown = actorClass; at !== Actor && typeof at === "function"; at = Object.getPrototypeOf(at)) {
    if (Function.prototype.toString.call(at).includes(name)) return true;
  }
  return false;
}

/** A method that hides a property of Actor cannot be called, and its class cannot use the property. */
function refuseHidden(type: string, prototype: object): void {
  for (let at = prototype; at !== Actor.prototype; at = Object.getPrototypeOf(at) as object) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      const own = Object.getOwnPropertyDescriptor(Actor.prototype, name);
      if (own?.get === undefined || typeof value !== "function") continue;
      const what = `${type}.${name} cannot be a method: every actor has a property of that name`;
      throw new LimpetError("OPTION_INVALID", `${what}; rename the method`);
    }
  }
}

function methodsOf(prototype: object): Set<string> {
  const methods = new Set<string>();
  for (let at = prototype; at !== Actor.prototype; at = Object.getPrototypeOf(at) as object) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (typeof value === "function" && (isCallable(name) || OVERRIDABLE.has(name))) methods.add(name);
    }
  }
  return methods;
}
