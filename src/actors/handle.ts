// Handles: `app.actor(Cart, "alice")` returns an object with the methods of the class, each of which sends a
// call. The class of a handle is made once per type, so a call is an ordinary method call.
import { LimpetError } from "../kernel/errors.ts";
import type { CallOptions } from "../ports/host-admin.ts";

import type { Activation } from "./activation/activation.ts";
import type { LifeContext } from "./activation/life-context.ts";
import type { TypeInstruments } from "./instruments.ts";

/** A callable type: of this host, or of another one. */
export interface CallTarget {
  readonly name: string;
  readonly options: { readonly callTimeoutMs: number };
  /** Methods known in advance; others are resolved by the call. */
  readonly methods: ReadonlySet<string>;
  /** Activations in memory here. */
  readonly activations: ReadonlyMap<string, Activation>;
  readonly instruments: TypeInstruments | undefined;
  /** Made with the first handle. */
  makeHandle: HandleMaker | undefined;
}

/** Sends a call. `caller` is the actor whose code makes it, if any. */
export type Send = (
  type: CallTarget,
  id: string,
  method: string,
  args: unknown[],
  caller: LifeContext | undefined,
  options: CallOptions | undefined,
) => Promise<unknown>;

export type HandleMaker = (id: string, caller: LifeContext | undefined, options: CallOptions | undefined) => object;

// Method names belong to the user, so our own keys are symbols.
const ID: unique symbol = Symbol("id");
const CALLER: unique symbol = Symbol("caller");
const OPTIONS: unique symbol = Symbol("options");

/** Handles names that are not methods of the class: perhaps a function in a field, perhaps a mistake. */
function fallback(type: CallTarget, send: Send): object {
  return new Proxy(Object.create(null) as object, {
    get(_target, name, handle: Handle) {
      // A handle must not look like a promise, or `await` would call it. JSON.stringify must not call it
      // either.
      if (typeof name === "symbol" || name === "then" || name === "toJSON") return undefined;
      if (name === "toString") return () => `${type.name}/${handle[ID]}`;
      return (...args: unknown[]) => send(type, handle[ID], name, args, handle[CALLER], handle[OPTIONS]);
    },
    set(_target, name) {
      throw new LimpetError(
        "ARGUMENT_INVALID",
        `${String(name)} cannot be set on an actor from outside; call a method`,
      );
    },
  });
}

interface Handle {
  readonly [ID]: string;
  readonly [CALLER]: LifeContext | undefined;
  readonly [OPTIONS]: CallOptions | undefined;
}

export function handleMaker(type: CallTarget, send: Send): HandleMaker {
  class ActorHandle implements Handle {
    readonly [ID]: string;
    readonly [CALLER]: LifeContext | undefined;
    readonly [OPTIONS]: CallOptions | undefined;

    constructor(id: string, caller: LifeContext | undefined, options: CallOptions | undefined) {
      this[ID] = id;
      this[CALLER] = caller;
      this[OPTIONS] = options;
    }
  }
  for (const method of type.methods) {
    const value = function (this: Handle, ...args: unknown[]): Promise<unknown> {
      return send(type, this[ID], method, args, this[CALLER], this[OPTIONS]);
    };
    Object.defineProperty(ActorHandle.prototype, method, { value });
  }
  Object.setPrototypeOf(ActorHandle.prototype, fallback(type, send));
  return (id, caller, options) => new ActorHandle(id, caller, options);
}
