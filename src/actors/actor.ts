// The class users extend. It holds one link, to its activation; everything it offers is asked of that.
import { invariant, LimpetError } from "../kernel/errors.ts";
import type { ReminderTick } from "../ports/reminder-writer.ts";
import type { ActorTimers } from "./activation/timers.ts";
import type { ActorReminders } from "./outbox/actor-reminders.ts";
import type { ActorWorkflows } from "./outbox/actor-workflows.ts";
import type { ActorClass, AnyActor, CallSettings, Remote } from "./routing/remote.ts";

/**
 * Why an actor leaves memory. `idle`: nobody called it; `memory`: room was needed; `explicit`: it asked to;
 * `stop`: the process stops; `moved`: it lives on another host from now on.
 */
export type DeactivationReason = "idle" | "memory" | "explicit" | "stop" | "moved";

/** What surrounds an instance, for as long as it lives. */
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

// An actor may use its id or timers already in its constructor, so the link must be there before that runs.
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
        `${new.target.name} is an actor: nobody creates it by hand, call it with app.actor(${new.target.name}, id)`,
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

  /** Plain data: change it as you like. What a turn changed is committed when it ends, or taken back if it throws. */
  get state(): State {
    return this.#context.state as State;
  }

  set state(value: State) {
    this.#context.state = value;
  }

  /** Aborted when the caller of the running turn gave up, its time ran out, or the process has to stop now. */
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

  /** Reminders are stored: they survive everything, and wake this actor wherever it lives then. */
  get reminders(): ActorReminders {
    return this.#context.reminders;
  }

  /** Workflows that this turn starts and signals: stored together with its state, or not at all. */
  get workflows(): ActorWorkflows {
    return this.#context.workflows;
  }

  /** Another actor. Calls through it are part of the running turn: its deadline and its cancellation go along. */
  actor<A extends AnyActor>(type: ActorClass<A>, id: string, settings?: CallSettings): Remote<A>;
  actor<A extends AnyActor = never>(type: string, id: string, settings?: CallSettings): Remote<A>;
  actor(type: ActorClass | string, id: string, settings?: CallSettings): object {
    return this.#context.handle(type, id, settings);
  }

  /** Removes the stored state when this turn commits. The next activation begins with `initial()` again. */
  clear(this: Actor<State>): void {
    this.#context.clear();
  }

  /** Leaves memory when this turn is over. The next call brings the actor back; if it is remembered, so does its host in a while. */
  deactivate(this: Actor<State>): void {
    this.#context.leave();
  }

  /**
   * Leaves memory when this turn has ended well, and is not brought back before the next call, also if it is a remembered one: the reply
   * leaves when it is sure that it is forgotten. Calls that come meanwhile reach its next activation.
   */
  passivate(this: Actor<State>): void {
    this.#context.passivate();
  }

  /** The state of an actor that has none stored. An actor without this method keeps no state and needs no store. */
  initial?(): State;

  /** Runs before the first turn. If it throws, the calls that were waiting get its error. */
  onActivate(): void | Promise<void> {}

  /** Runs after the last turn; what it changes is committed. Not run when the process dies or the actor is fenced. */
  onDeactivate(_reason: DeactivationReason): void | Promise<void> {}

  /**
   * Runs when a reminder of this actor is due. What it changes is committed together with the word that this tick is done; if it throws,
   * the tick is tried again later.
   */
  onReminder(_name: string, _data: unknown, _tick: ReminderTick): void | Promise<void> {}
}

/**
 * Methods whose names a class may use for its own methods: `clear()` of a cart is natural. The methods of Actor declare `this`, so
 * types can tell them apart from the user's.
 */
export type OwnMethod = "clear" | "deactivate" | "passivate";

/** Names of everything Limpet itself gives an actor. */
export const RESERVED: ReadonlySet<string> = new Set([...Object.getOwnPropertyNames(Actor.prototype), "initial"]);

invariant(RESERVED.has("onActivate") && RESERVED.has("state"), "the reserved names come from the class");
