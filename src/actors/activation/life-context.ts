// The context of actor code: everything that `this` offers to an actor during one life. It works only while a
// turn runs, and never again after the life has ended. Incarnation extends it with the turns.
import { AsyncLocalStorage } from "node:async_hooks";
import { LimpetError } from "../../kernel/errors.ts";
import type { ActivationDeps } from "../activation-deps.ts";
import { Actor, type ActorContext, construct } from "../actor.ts";
import type { ActorReminders } from "../outbox/actor-reminders.ts";
import type { ActorWorkflows } from "../outbox/actor-workflows.ts";
import type { ActorClass, AnyActor, CallSettings } from "../routing/remote.ts";
import type { StateBuffer } from "../state/state-buffer.ts";
import type { Activation } from "./activation.ts";
import { LifeServices, type ServedLife } from "./life-services.ts";
import type { ActorTimers } from "./timers.ts";
import type { Turn } from "./turn.ts";

// A reentrant actor has several nested turns in progress, and a call belongs to the turn of the code that
// makes it. Asking the runtime costs as much as the rest of a call, so only reentrant actors pay for it.
export const runningCode = new AsyncLocalStorage<Turn>();

const neverAborted = new AbortController().signal;

export abstract class LifeContext implements ActorContext, ServedLife {
  protected readonly activation: Activation;
  protected readonly deps: ActivationDeps;
  protected readonly instance: AnyActor;
  /** The innermost running turn. */
  running: Turn | undefined;
  isOver = false;
  /** Undefined: the actor has no state, or has not been taken yet. */
  protected buffer: StateBuffer | undefined;
  protected services: LifeServices | undefined;
  /** The turn that called `passivate()`. */
  protected passivating: Turn | undefined;

  constructor(activation: Activation, deps: ActivationDeps) {
    this.activation = activation;
    this.deps = deps;
    this.instance = construct(activation.type.actorClass, this);
  }

  get id(): string {
    return this.activation.id;
  }

  get typeName(): string {
    return this.activation.type.name;
  }

  get namespace(): string {
    return this.deps.namespace;
  }

  get state(): object {
    return this.#stateBuffer().draft;
  }

  set state(value: object) {
    this.#stateBuffer().replace(value);
  }

  clear(): void {
    this.#stateBuffer().clear(() => this.instance.initial!());
  }

  #stateBuffer(): StateBuffer {
    if (this.buffer !== undefined && this.running !== undefined && !this.isOver) return this.buffer;
    const { type, label } = this.activation;
    if (!type.stateful) {
      throw new LimpetError(
        "STATE_MISSING",
        `${type.name} keeps no state; give it a method initial() that returns some`,
      );
    }
    throw new LimpetError("STATE_OUTSIDE_TURN", `the state of ${label} was used outside a turn`);
  }

  get signal(): AbortSignal {
    return this.current?.signal ?? neverAborted;
  }

  get deadline(): number | undefined {
    const turn = this.current;
    if (turn === undefined) return undefined;
    const { clock } = this.deps;
    return Math.round(clock.now() + turn.deadlineAt - clock.monotonic());
  }

  get handlesReminders(): boolean {
    return this.instance.onReminder !== Actor.prototype.onReminder;
  }

  get timers(): ActorTimers {
    return this.#useServices().timers;
  }

  get reminders(): ActorReminders {
    return this.#useServices().reminders;
  }

  get workflows(): ActorWorkflows {
    return this.#useServices().workflows;
  }

  #useServices(): LifeServices {
    this.services ??= new LifeServices(this.activation, this.deps, this);
    return this.services;
  }

  leave(): void {
    if (!this.isOver) this.activation.deactivate("explicit");
  }

  passivate(): void {
    const turn = this.current;
    if (turn === undefined || this.isOver) {
      throw new LimpetError("STATE_OUTSIDE_TURN", `${this.activation.label} called passivate() outside a turn`);
    }
    this.passivating = turn;
  }

  handle(type: ActorClass | string, id: string, settings: CallSettings | undefined): object {
    return this.deps.calls.handle(type, id, settings, this);
  }

  /** The turn whose code runs at this moment. */
  get current(): Turn | undefined {
    if (!this.activation.type.options.reentrant) return this.running;
    const turn = runningCode.getStore();
    return turn?.activation === this.activation && turn.phase === "running" ? turn : this.running;
  }
}
