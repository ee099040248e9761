// A call to another host and its outcome: an answer, a rejection that sends it elsewhere, or a lost
// connection. A delivered call is never sent again. A call that certainly was not delivered is routed again.
import type { LimpetError } from "../../kernel/errors.ts";
import type { Cancel, Links, Ownership, RemoteCall, RemoteCaller } from "../../ports/links.ts";
import type { Place, Turn } from "../activation/turn.ts";

export interface Dispatcher {
  readonly links: Links;
  describe(turn: Turn): RemoteCall;
  /** The call has ended, on this or the other host. */
  arrived(turn: Turn, at: string): void;
  /** The other host has run the call, so it owns the actor; this is worth caching. */
  ran(turn: Turn, at: string): void;
  turnedAway(turn: Turn, from: string, belief: Ownership): void;
  unsent(turn: Turn, error: LimpetError): void;
}

export class OutboundCall implements RemoteCaller, Place {
  readonly #turn: Turn;
  readonly #to: string;
  readonly #dispatcher: Dispatcher;
  readonly #isNews: boolean;
  readonly #cancel: Cancel;
  #over = false;

  /** `isNews`: the tables do not show which host runs the actor. */
  constructor(turn: Turn, to: string, isNews: boolean, dispatcher: Dispatcher) {
    this.#turn = turn;
    this.#to = to;
    this.#isNews = isNews;
    this.#dispatcher = dispatcher;
    turn.place = this;
    this.#cancel = dispatcher.links.call(to, dispatcher.describe(turn), this);
  }

  value(result: unknown): void {
    if (!this.#end()) return;
    if (this.#isNews) this.#dispatcher.ran(this.#turn, this.#to);
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

  notOwner(belief: Ownership): void {
    if (!this.#end()) return;
    this.#dispatcher.turnedAway(this.#turn, this.#to, belief);
  }

  unsent(error: LimpetError): void {
    if (!this.#end()) return;
    this.#dispatcher.unsent(this.#turn, error);
  }

  /** The caller gave up: notifies the other host. */
  withdraw(_turn: Turn): void {
    if (this.#end()) this.#cancel();
  }

  #end(): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.#turn.place = undefined;
    this.#dispatcher.arrived(this.#turn, this.#to);
    return true;
  }
}
