// Calls that wait to run inside the running turn of a reentrant actor, in order of arrival.
import { chainHas } from "../routing/call-origin.ts";
import { cancelled, type Turn } from "./turn.ts";

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
