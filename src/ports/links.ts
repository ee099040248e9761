// Calls between hosts. One connection per pair carries everything; what happens in the same tick travels together.
//
// The promise of a link: a call is delivered at most once. Its caller hears exactly one of: an answer of the other host
// (`value`, `error`, `notOwner`), `unsent` (surely not delivered: it may be sent elsewhere), or `lost` (it was sent and
// nobody knows more).

import type { LimpetError } from "../kernel/errors.ts";

/** A turn that waits, somewhere, for the call that is made. */
export interface RemoteCause {
  /** The address of its host. */
  readonly host: string;
  /** Its number there. */
  readonly turn: number;
  readonly type: string;
  readonly id: string;
  readonly method: string;
}

export interface RemoteCall {
  readonly namespace: string;
  readonly type: string;
  readonly id: string;
  readonly method: string;
  readonly args: readonly unknown[];
  /** What is left of its time. */
  readonly timeoutMs: number;
  /** How many hosts have turned it away so far. */
  readonly hops: number;
  /** The receiver passes it on when the actor is not its own: for callers without a table. */
  readonly passOn: boolean;
  /** The turns that wait for it, oldest first. */
  readonly causes: readonly RemoteCause[];
}

/** Where a host believes an actor to live. */
export interface Ownership {
  /** Of its table; zeros when it has none. */
  readonly term: number;
  readonly version: number;
  readonly owner: string | undefined;
}

export interface RemoteCaller {
  value(result: unknown): void;
  /** What the method threw, or a LimpetError of the other host. */
  error(error: unknown): void;
  /** The other host did not run it. */
  notOwner(belief: Ownership): void;
  unsent(error: LimpetError): void;
  lost(error: LimpetError): void;
}

export interface Links {
  /** Sends a call. What it returns tells the other host that nobody waits any more; the caller hears nothing after it. */
  call(address: string, call: RemoteCall, caller: RemoteCaller): Cancel;
  /** Lets go of connections to hosts that are in no table any more, once their answers are in. */
  retain(addresses: ReadonlySet<string>): void;
  close(): Promise<void>;
}

export type Cancel = () => void;

/** How the serving side answers; the first answer counts. */
export interface RemoteAnswer {
  value(result: unknown): void;
  error(error: unknown): void;
  notOwner(belief: Ownership): void;
}

export interface LinkService {
  /**
   * Must not throw. Returns what to do when the caller gives up, or its connection is lost. `line`: the connection, by which calls come in the
   * order in which they were sent.
   */
  serve(call: RemoteCall, answer: RemoteAnswer, line: object): Cancel;
}
