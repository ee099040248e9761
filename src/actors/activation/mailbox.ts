// Turns that wait for their actor, in order of arrival: in its mailbox, or for the running turn of a
// reentrant actor. A turn is removed as soon as its caller gives up, so the length counts only turns with a
// caller.
import { chainHas } from "../routing/call-origin.ts";
import { cancelled, type Turn } from "./turn.ts";

export class Mailbox {
  #first: Turn | undefined;
  #last: Turn | undefined;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  get first(): Turn | undefined {
    return this.#first;
  }

  push(turn: Turn): void {
    turn.before = this.#last;
    if (this.#last === undefined) this.#first = turn;
    else this.#last.behind = turn;
    this.#last = turn;
    this.#length++;
  }

  shift(): Turn | undefined {
    const turn = this.#first;
    if (turn !== undefined) this.remove(turn);
    return turn;
  }

  /** Empties the mailbox. A removed turn may enter another mailbox, so it must not keep its neighbours. */
  takeAll(): Turn[] {
    const turns: Turn[] = [];
    for (let turn = this.shift(); turn !== undefined; turn = this.shift()) turns.push(turn);
    return turns;
  }

  /** The turn must be in this mailbox. */
  remove(turn: Turn): void {
    if (turn.before === undefined) this.#first = turn.behind;
    else turn.before.behind = turn.behind;
    if (turn.behind === undefined) this.#last = turn.before;
    else turn.behind.before = turn.before;
    turn.before = undefined;
    turn.behind = undefined;
    this.#length--;
  }

  *[Symbol.iterator](): Generator<Turn> {
    for (let turn = this.#first; turn !== undefined; turn = turn.behind) yield turn;
  }
}

/** Calls that wait to run inside the running turn of a reentrant actor, in order of arrival. */
export class NestedTurns {
  readonly #waiting: Turn[] = [];

  get size(): number {
    return this.#waiting.length;
  }

  add(turn: Turn): void {
    this.#waiting.push(turn);
  }

  /** False: the turn does not wait here. */
  withdraw(turn: Turn): boolean {
    const at = this.#waiting.indexOf(turn);
    if (at >= 0) this.#waiting.splice(at, 1);
    return at >= 0;
  }

  /** Removes the first call that `outer` caused. Undefined: none waits. */
  takeCausedBy(outer: Turn): Turn | undefined {
    const at = this.#waiting.findIndex((turn) => chainHas(turn.parent, (cause) => cause === outer));
    return at < 0 ? undefined : this.#waiting.splice(at, 1)[0];
  }

  end(reason: string): void {
    for (const turn of this.#waiting.splice(0)) turn.fail(cancelled(turn.label, reason));
  }
}
