// Types that make the methods of a class callable from other hosts. No code is generated: TypeScript infers
// all of them.
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

/** Names that are not callable: members of Limpet's own base class, hooks, and names with an underscore. */
type NotCallable = Exclude<keyof AnyActor, OwnMethod> | `_${string}`;

/** True: the class defines a method of its own under a name that Limpet uses too. */
type IsOwn<K, M> = K extends OwnMethod ? (unknown extends ThisParameterType<M> ? true : false) : true;

// biome-ignore lint/suspicious/noExplicitAny: a method with any arguments at all.
type Method = (...args: any[]) => unknown;

/** The callable methods of an actor of class `A`: its public methods, each returning a promise. */
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
  /**
   * How long the caller waits; by default the timeout of the type, and never longer than the call it is part
   * of.
   */
  readonly timeout?: Duration;
  /** Aborting it aborts the actor's own `signal`, and rejects the call with CALL_CANCELLED. */
  readonly signal?: AbortSignal;
}
