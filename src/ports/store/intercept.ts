// Decorators of stores and of their parts. A decorator is a new object that is made once, so a call pays for
// no lookup. Methods are called on the decorated object; other members are copied.
import type { Store } from "./store.ts";

const PARTS = ["coordination", "reminders", "workflows", "shards"] as const;

/** The part of the store that has a method. `actors`: the store itself. */
export type StorePart = "actors" | (typeof PARTS)[number];

/** Answers a call. `next` calls the method of the decorated object. */
export type AroundMethod = (method: string, args: readonly unknown[], next: () => unknown) => unknown;
export type AroundStore = (part: StorePart, ...call: Parameters<AroundMethod>) => unknown;

type Method = (...args: readonly unknown[]) => unknown;

/** Replaces some methods. */
export const replaceMethods = <T extends object>(target: T, own: Partial<T>): T =>
  Object.assign(
    eachMethod(target, (name) => methodOf(target, name).bind(target)),
    own,
  );

/** Passes every call through `around`. */
export const interceptMethods = <T extends object>(target: T, around: AroundMethod): T =>
  eachMethod(
    target,
    (name): Method =>
      (...args) =>
        around(name, args, () => Reflect.apply(methodOf(target, name), target, args)),
  );

/** Passes every request to the store and to its parts through `around`. */
export function interceptStore<S extends Store>(store: S, around: AroundStore): S {
  const view = interceptMethods(store, (...call) => around("actors", ...call));
  const parts = PARTS.map((part) => [part, interceptMethods(store[part], (...call) => around(part, ...call))]);
  return Object.assign(view, Object.fromEntries(parts));
}

const methodOf = (target: object, name: string): Method => Reflect.get(target, name, target) as Method;

function eachMethod<T extends object>(target: T, make: (name: string) => Method): T {
  const view: Record<string, unknown> = {};
  for (let level: object = target; level !== Object.prototype; level = Object.getPrototypeOf(level))
    for (const name of Object.getOwnPropertyNames(level)) {
      // Overridden below in the chain, or a constructor.
      if (name in view) continue;
      const member: unknown = Reflect.get(target, name, target);
      view[name] = typeof member === "function" ? make(name) : member;
    }
  return view as T;
}
