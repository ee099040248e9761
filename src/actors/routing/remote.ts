// The types by which a class becomes something callable from afar: no code is generated, TypeScript infers it all.
import type { Duration } from "../../kernel/durations.ts";
import type { Actor, OwnMethod } from "../actor.ts";
import type { ActorOptions } from "../options/actor-options.ts";

// biome-ignore lint/suspicious/noExplicitAny: any state will do; `unknown` would refuse classes by variance.
export type AnyActor = Actor<any>;

/** A class of actors, as `limpet({ actors: [Cart] })` and `app.actor(Cart, id)` take it. */
export interface ActorClass<A extends AnyActor = AnyActor> {
  new (): A;
  readonly name: string;
  readonly options?: ActorOptions;
}

/** Names that are never called from afar: what Limpet itself gives an actor, its hooks, and names with an underscore. */
type NotCallable = Exclude<keyof AnyActor, OwnMethod> | `_${string}`;

/** Whether a class has a method of its own under a name that Limpet uses too. */
type IsOwn<K, M> = K extends OwnMethod ? (unknown extends ThisParameterType<M> ? true : false) : true;

// biome-ignore lint/suspicious/noExplicitAny: a method with any arguments at all.
type Method = (...args: any[]) => unknown;

/** What can be called on an actor of class `A`: its public methods, each returning a promise. */
export type Remote<A> = {
  readonly [K in keyof A as K extends NotCallable
    ? never
    : A[K] extends Method
      ? IsOwn<K, A[K]> extends true
        ? K
        : never
      : never]: A[K] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never;
};

export interface CallSettings {
  /** How long the caller waits; by default what the type says, and never longer than the call it is part of. */
  readonly timeout?: Duration;
  /** Aborting it tells the actor through its own `signal`, and the caller by CALL_CANCELLED. */
  readonly signal?: AbortSignal;
}
