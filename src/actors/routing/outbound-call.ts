// A call to another host and its outcome: an answer, a rejection that sends it elsewhere, or a lost
// connection. A delivered call is never sent again. A call that certainly was not delivered is routed again.
import type { LimpetError } from "../../kernel/errors.ts";
import type { Cancel, Links, Ownership, RemoteCall, RemoteCaller } from "../../ports/links.ts";
import type { Turn, TurnHolder } from "../activation/turn.ts";

export interface OutboundCallDeps {
  readonly links: Links;
  describe(turn: Turn): RemoteCall;
  /** The call has ended, on this or the other host. */
  returned(turn: Turn, from: string): void;
  /** The other host has run the call, so it owns the actor. */
  cacheOwner(turn: Turn, address: string): void;
  rejected(turn: Turn, from: string, ownership: Ownership): void;
  unsent(turn: Turn, error: LimpetError): void;
}

export class OutboundCall implements RemoteCaller, TurnHolder {
  readonly #turn: Turn;
  readonly #to: string;
  readonly #deps: OutboundCallDeps;
  readonly #isWorthCaching: boolean;
  readonly #cancel: Cancel;
  #over = false;

  /** `isWorthCaching`: the tables do not show which host runs the actor. */
  constructor(turn: Turn, to: string, isWorthCaching: boolean, deps: OutboundCallDeps) {
    this.#turn = turn;
    this.#to = to;
    this.#isWorthCaching = isWorthCaching;
    this.#deps = deps;
    turn.holder = this;
    this.#cancel = deps.links.call(to, deps.describe(turn), this);
  }

  value(result: unknown): void {
    if (!this.#end()) return;
    if (this.#isWorthCaching) this.#deps.cacheOwner(this.#turn, this.#to);
    this.#turn.succeed(result);
  }

  error(error: unknown): void {
    if (!this.#end()) return;
    this.#turn.fail(error);
  }

  lost(error: LimpetError): void {
    if (!this.#end()) return;
    this.#turn.fail(error);
  }

  notOwner(ownership: Ownership): void {
    if (!this.#end()) return;
    this.#deps.rejected(this.#turn, this.#to, ownership);
  }

  unsent(error: LimpetError): void {
    if (!this.#end()) return;
    this.#deps.unsent(this.#turn, error);
  }

  /** The caller gave up: notifies the other host. */
  withdraw(_turn: Turn): void {
    if (this.#end()) this.#cancel();
  }

  #end(): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.#turn.holder = undefined;
    this.#deps.returned(this.#turn, this.#to);
    return true;
  }
}
