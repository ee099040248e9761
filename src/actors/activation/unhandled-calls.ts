// Remembers failed calls of actors while their rejection may still be unhandled. It does nothing for calls
// that succeed. A rejection is recognised by its promise, or by its error when actor code rethrew it in
// another promise.
import type { Turn } from "./turn.ts";

/** The actor whose code made the call. */
export interface CallingActor {
  readonly typeName: string;
  readonly id: string;
}

export interface UnhandledCall {
  readonly type: string;
  readonly id: string;
  /** The turn that made the call; undefined: code of the actor that ran outside of a turn. */
  readonly method: string | undefined;
  /** For display: `Cart/alice.add`. */
  readonly call: string;
}

export class UnhandledCalls {
  readonly #calls = new WeakMap<object, UnhandledCall>();

  note(promise: Promise<unknown>, error: unknown, call: UnhandledCall): void {
    this.#calls.set(promise, call);
    if (typeof error === "object" && error !== null) this.#calls.set(error, call);
  }

  find(promise: Promise<unknown>, reason: unknown): UnhandledCall | undefined {
    const known = this.#calls.get(promise);
    return known ?? (typeof reason === "object" && reason !== null ? this.#calls.get(reason) : undefined);
  }
}

/** Undefined: no actor of this host made the call. */
export function madeBy(
  turn: Turn,
  parent: Turn | undefined,
  caller: CallingActor | undefined,
): UnhandledCall | undefined {
  if (parent !== undefined) {
    return { type: parent.type.name, id: parent.id, method: parent.method, call: turn.label };
  }
  return caller && { type: caller.typeName, id: caller.id, method: undefined, call: turn.label };
}
