// A call on its way to another host, and what becomes of it: an answer, a refusal that sends it elsewhere, or the loss of
// the connection. A call that was delivered is never sent again; one that surely was not finds another way.
import type { LimpetError } from "../../kernel/errors.ts";
import type { Cancel, Links, Ownership, RemoteCall, RemoteCaller } from "../../ports/links.ts";
import type { Place, Turn } from "../activation/turn.ts";

export interface Dispatcher {
  readonly links: Links;
  describe(turn: Turn): RemoteCall;
  /** The call has come to its end, here or there. */
  arrived(turn: Turn, at: string): void;
  /** That host has run it, which is worth knowing. */
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

  /** `isNews`: where it ran is not clear from the tables. */
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

  /** Its caller gave up: the other host is told. */
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
