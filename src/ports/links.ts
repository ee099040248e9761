// Calls between hosts. One connection per pair carries everything; messages of the same tick are sent
// together.
//
// The guarantee of a link: a call is delivered at most once. Its caller gets exactly one outcome: an answer
// of the other host (`value`, `error`, `notOwner`), `unsent` (certainly not delivered: it may be sent to
// another host), or `lost` (it was sent, and its outcome is unknown).

import type { LimpetError } from "../kernel/errors.ts";

/** A turn on some host that waits for this call. */
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
  /** The remaining time. */
  readonly timeoutMs: number;
  /** Number of hosts that have rejected it as "not owner" so far. */
  readonly hops: number;
  /** The receiver forwards it when it does not own the actor: for callers without a table. */
  readonly passOn: boolean;
  /** The turns that wait for it, oldest first. */
  readonly causes: readonly RemoteCause[];
}

/** The owner of an actor by the table of a host. */
export interface Ownership {
  /** The version of its table; zeros when it has none. */
  readonly term: number;
  readonly version: number;
  readonly owner: string | undefined;
}

export interface RemoteCaller {
  value(result: unknown): void;
  /** The error that the method threw, or a LimpetError of the other host. */
  error(error: unknown): void;
  /** The other host did not run it. */
  notOwner(ownership: Ownership): void;
  unsent(error: LimpetError): void;
  lost(error: LimpetError): void;
}

export interface Links {
  /**
   * Sends a call. The returned function cancels it at the other host; the caller gets no outcome afterwards.
   */
  call(address: string, call: RemoteCall, caller: RemoteCaller): Cancel;
  /** Releases connections to hosts that are in no table any more, after their last answers. */
  retain(addresses: ReadonlySet<string>): void;
  close(): Promise<void>;
}

export type Cancel = () => void;

/** The answer of the serving side; the first answer counts. */
export interface RemoteAnswer {
  value(result: unknown): void;
  error(error: unknown): void;
  notOwner(ownership: Ownership): void;
}

export interface LinkService {
  /**
   * Must not throw. Returns the cancellation to run when the caller cancels or its connection is lost.
   * `line`: the connection, on which calls arrive in the order in which they were sent.
   */
  serve(call: RemoteCall, answer: RemoteAnswer, line: object): Cancel;
}
