// The class that users extend. Its only field is a link to its context, which implements all its properties
// and methods.
import { invariant, LimpetError } from "../kernel/errors.ts";
import type { DeactivationReason } from "../ports/actor-host.ts";
import type { ReminderTick } from "../ports/reminder-writer.ts";
import type { ActorTimers } from "./activation/timers.ts";
import type { ActorReminders } from "./outbox/actor-reminders.ts";
import type { ActorWorkflows } from "./outbox/actor-workflows.ts";
import type { ActorClass, AnyActor, CallSettings, Remote } from "./routing/remote.ts";

/** The services that an instance uses while it lives. */
export interface ActorContext {
  readonly id: string;
  readonly typeName: string;
  readonly namespace: string;
  readonly timers: ActorTimers;
  readonly reminders: ActorReminders;
  readonly workflows: ActorWorkflows;
  readonly signal: AbortSignal;
  readonly deadline: number | undefined;
  state: object;
  clear(): void;
  leave(): void;
  passivate(): void;
  handle(type: ActorClass | string, id: string, settings: CallSettings | undefined): object;
}

// An actor may use its id or timers in its constructor, so the link must exist before the constructor runs.
let entering: ActorContext | undefined;

export function construct(actorClass: ActorClass, context: ActorContext): AnyActor {
  entering = context;
  try {
    return new actorClass();
  } finally {
    entering = undefined;
  }
}

export abstract class Actor<State extends object = Record<never, never>> {
  readonly #context: ActorContext;

  constructor() {
    if (entering === undefined) {
      throw new LimpetError(
        "ARGUMENT_INVALID",
        `${new.target.name} is an actor and cannot be created with new; call it with app.actor(${new.target.name}, id)`,
      );
    }
    this.#context = entering;
    entering = undefined;
  }

  get id(): string {
    return this.#context.id;
  }

  get type(): string {
    return this.#context.typeName;
  }

  get namespace(): string {
    return this.#context.namespace;
  }

  /**
   * Plain data that turns may change freely. The changes are committed when the turn ends, or undone if it
   * throws.
   */
  get state(): State {
    return this.#context.state as State;
  }

  set state(value: State) {
    this.#context.state = value;
  }

  /**
   * Aborted when the caller of the running turn gave up, the turn timed out, or the process must stop now.
   */
  get signal(): AbortSignal {
    return this.#context.signal;
  }

  /** When the caller of the running turn stops waiting, in milliseconds since 1970. */
  get deadline(): number | undefined {
    return this.#context.deadline;
  }

  /** Timers in memory: they run as turns and end with the activation. */
  get timers(): ActorTimers {
    return this.#context.timers;
  }

  /** Reminders are stored: they survive crashes and restarts, and wake this actor on any host. */
  get reminders(): ActorReminders {
    return this.#context.reminders;
  }

  /** Workflows that this turn starts and signals: stored in the same commit as its state, or not at all. */
  get workflows(): ActorWorkflows {
    return this.#context.workflows;
  }

  /**
   * Another actor. Calls through it are part of the running turn and inherit its deadline and cancellation.
   */
  actor<A extends AnyActor>(type: ActorClass<A>, id: string, settings?: CallSettings): Remote<A>;
  actor<A extends AnyActor = never>(type: string, id: string, settings?: CallSettings): Remote<A>;
  actor(type: ActorClass | string, id: string, settings?: CallSettings): object {
    return this.#context.handle(type, id, settings);
  }

  /** Removes the stored state when this turn commits. The next activation begins with `initial()` again. */
  clear(this: Actor<State>): void {
    this.#context.clear();
  }

  /**
   * Leaves memory after this turn. The next call activates the actor again; if it is remembered, so does its
   * host.
   */
  deactivate(this: Actor<State>): void {
    this.#context.leave();
  }

  /**
   * Leaves memory when this turn has succeeded. Even a remembered actor then stays inactive until the next
   * call. The reply is sent after the actor is no longer remembered. Calls that arrive meanwhile reach the
   * next activation.
   */
  passivate(this: Actor<State>): void {
    this.#context.passivate();
  }

  /**
   * The state of an actor without a stored one. An actor without this method has no state and needs no store.
   */
  initial?(): State;

  /** Runs before the first turn. If it throws, the waiting calls get its error. */
  onActivate(): void | Promise<void> {}

  /**
   * Runs after the last turn; its changes are committed. It does not run when the process dies or the actor
   * is fenced.
   */
  onDeactivate(_reason: DeactivationReason): void | Promise<void> {}

  /**
   * Runs when a reminder of this actor is due. Its changes are committed together with the completion of this
   * tick. If it throws, the tick is retried later.
   */
  onReminder(_name: string, _data: unknown, _tick: ReminderTick): void | Promise<void> {}
}

/**
 * Methods whose names a class may use for its own methods: `clear()` of a cart is natural. The methods of
 * Actor declare `this`, so types can distinguish them from the user's.
 */
export type OwnMethod = "clear" | "deactivate" | "passivate";

/** Names of all members that Limpet itself gives an actor. */
export const RESERVED: ReadonlySet<string> = new Set([...Object.getOwnPropertyNames(Actor.prototype), "initial"]);

invariant(RESERVED.has("onActivate") && RESERVED.has("state"), "the reserved names come from the class");
