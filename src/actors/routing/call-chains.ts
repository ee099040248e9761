// Chains of calls across hosts. Turns of this host that caused a call on another host get a number, which
// finds them again when the chain comes back.
import type { RemoteCause } from "../../ports/links.ts";
import { Turn } from "../activation/turn.ts";
import { type CallOrigin, DistantTurn } from "./call-origin.ts";

export class CallChains {
  readonly #address: string;
  /** Turns of this host that other hosts know by number, with the number of their calls there. */
  readonly #exportedTurns = new Map<number, { readonly turn: Turn; calls: number }>();
  #lastNumber = 0;

  /** `address`: of this host. */
  constructor(address: string) {
    this.#address = address;
  }

  /** The chain of a call that leaves this host, oldest first. */
  export(parent: CallOrigin | undefined): readonly RemoteCause[] {
    if (parent === undefined) return NO_CAUSES;
    const causes: RemoteCause[] = [];
    for (let at: CallOrigin | undefined = parent; at !== undefined; at = at.parent) {
      const { type, id, method } = at;
      if (at instanceof DistantTurn) {
        causes.unshift({ host: at.host, turn: at.number, type: type.name, id, method });
      } else {
        causes.unshift({ host: this.#address, turn: this.#number(at as Turn), type: type.name, id, method });
      }
    }
    return causes;
  }

  #number(turn: Turn): number {
    if (turn.number === 0) turn.number = ++this.#lastNumber;
    const known = this.#exportedTurns.get(turn.number);
    if (known === undefined) this.#exportedTurns.set(turn.number, { turn, calls: 1 });
    else known.calls++;
    return turn.number;
  }

  /** The call has returned. */
  returned(parent: CallOrigin | undefined): void {
    for (let at = parent; at !== undefined; at = at.parent) {
      if (!(at instanceof Turn)) continue;
      const known = this.#exportedTurns.get(at.number);
      if (known !== undefined && --known.calls === 0) this.#exportedTurns.delete(at.number);
    }
  }

  /** The origin of a call from another host; undefined: no turn caused it. */
  import(causes: readonly RemoteCause[]): CallOrigin | undefined {
    let parent: CallOrigin | undefined;
    for (const { host, turn, type, id, method } of causes) {
      const own = host === this.#address ? this.#exportedTurns.get(turn)?.turn : undefined;
      parent = own ?? new DistantTurn(type, id, method, host, turn, parent);
    }
    return parent;
  }

  /** The other host on which the actor waits for this very call. */
  hostThatWaits({ parent, type, id }: Turn): string | undefined {
    for (let at = parent; at !== undefined; at = at.parent) {
      if (!(at instanceof DistantTurn) || at.host === this.#address) continue;
      if (at.id === id && at.type.name === type.name) return at.host;
    }
    return undefined;
  }
}

const NO_CAUSES: readonly RemoteCause[] = [];
