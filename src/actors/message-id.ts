// Calls addressed by their message. Either the type's `messageId` finds the id within the message, or the
// message is an envelope with the id outside and the payload inside. The actor gets the payload.

import { briefText, ignoreRejection, thrownText } from "../kernel/check.ts";
import { LimpetError } from "../kernel/errors.ts";
import { checkId, checkType } from "../kernel/names.ts";
import type { CallTarget, Send } from "./handle.ts";
import { readCallSettings } from "./options/call-settings.ts";
import type { ActorClass, AnyActor, CallSettings, Remote } from "./routing/remote.ts";

/** An id, and the payload for that actor. */
export interface MessageEnvelope<Message = unknown> {
  readonly id: string;
  /** Replaces the envelope as the first argument. Left out: the call has no first argument. */
  readonly message?: Message;
}

/**
 * Finds the receiver of a message: an id, if the actor gets the message itself; an envelope, if it gets the
 * payload.
 */
// biome-ignore lint/suspicious/noExplicitAny: messages are the application's.
export type MessageId = (message: any, method: string) => string | MessageEnvelope;

// biome-ignore lint/suspicious/noExplicitAny: a method with any arguments at all.
type Enveloped<M> = M extends (first: infer First, ...rest: any[]) => infer Result
  ? (message: unknown extends First ? MessageEnvelope : First | MessageEnvelope<First>, ...rest: Rest<M>) => Result
  : never;

// biome-ignore lint/suspicious/noExplicitAny: a method with any arguments at all.
type Rest<M> = M extends (first: any, ...rest: infer Others) => unknown ? Others : [];

/**
 * All actors of a class at once, as `app.region(Counter)` returns them. Each call goes to the actor that its
 * first argument names.
 */
export type TypeRegion<A extends AnyActor> = { readonly [K in keyof Remote<A>]: Enveloped<Remote<A>[K]> };

/**
 * The receiver and the arguments of a call. `own`: the extractor of the type. Throws ARGUMENT_INVALID or
 * NAME_INVALID.
 */
export function addressed(
  type: string,
  method: string,
  [message, ...rest]: readonly unknown[],
  own: MessageId | undefined,
): { readonly id: string; readonly args: unknown[] } {
  const found = own === undefined ? undefined : extract(type, method, message, own);
  if (typeof found === "string") {
    checkId(found);
    return { id: found, args: [message, ...rest] };
  }
  const envelope = found ?? message;
  if (!isEnvelope(envelope)) {
    ignoreRejection(found);
    throw invalid(type, method, own, envelope);
  }
  checkId(envelope.id);
  return {
    id: envelope.id,
    args: envelope.message === undefined && rest.length === 0 ? [] : [envelope.message, ...rest],
  };
}

function extract(type: string, method: string, message: unknown, own: MessageId): unknown {
  try {
    return own(message, method);
  } catch (error) {
    const what = `messageId of ${type} failed on a message for ${method}: ${thrownText(error)}`;
    throw new LimpetError("ARGUMENT_INVALID", what, { cause: error });
  }
}

const isEnvelope = (value: unknown): value is MessageEnvelope =>
  typeof value === "object" && value !== null && typeof (value as Partial<MessageEnvelope>).id === "string";

function invalid(type: string, method: string, own: MessageId | undefined, got: unknown): LimpetError {
  const given =
    typeof got === "object" && got !== null && !(got instanceof Promise) ? "one without an id" : briefText(got);
  const what =
    own === undefined
      ? `a message for ${type}.${method} must be an envelope such as { id: "…", message: … }; got ${given}`
      : `messageId of ${type} must return an id or an envelope with one; got ${briefText(got)} for a message to ${method}`;
  return new LimpetError("ARGUMENT_INVALID", what);
}

/** The functions needed to call the actors of a type. */
export interface Senders {
  readonly calls: { target(name: string): CallTarget; readonly send: Send };
  readonly types: ReadonlyMap<
    string,
    { readonly options: { readonly sharded: { messageId: MessageId | undefined } | undefined } }
  >;
}

/** An object with a method for every name; the actor rejects names that are not methods of its class. */
export function regionOf(senders: Senders, of: ActorClass | string, settings: CallSettings = {}): object {
  const name = typeof of === "string" ? of : (of?.options?.name ?? of?.name);
  checkType(name);
  const options = readCallSettings(settings);
  return new Proxy(Object.create(null) as object, {
    get(_target, method) {
      // It must not look like a promise, or `await` would call it.
      if (typeof method === "symbol" || method === "then" || method === "toJSON") return undefined;
      if (method === "toString") return () => `region of ${name}`;
      return async (...message: unknown[]): Promise<unknown> => {
        const { id, args } = addressed(name, method, message, messageIdOf(senders, name, of));
        return senders.calls.send(senders.calls.target(name), id, method, args, undefined, options);
      };
    },
  });
}

/**
 * The extractor of a type of this process; or of the class itself, which a caller may have without hosting
 * it.
 */
export function messageIdOf(
  { types }: Pick<Senders, "types">,
  name: string,
  of?: ActorClass | string,
): MessageId | undefined {
  const known = types.get(name);
  if (known !== undefined) return known.options.sharded?.messageId;
  const placement = typeof of === "function" ? of.options?.placement : undefined;
  return typeof placement === "object" && placement.kind === "sharded" ? placement.messageId : undefined;
}
