// The origin of a call: a turn of an actor, on this or another host, that waits for it. Chains of origins
// show whether a call comes back to an actor that waits for it, on any host.
import type { Activation } from "../activation/activation.ts";
import type { TurnPhase } from "../activation/turn.ts";

export interface CallOrigin {
  readonly type: { readonly name: string };
  readonly id: string;
  readonly method: string;
  /** For display: `Cart/alice.add`. */
  readonly label: string;
  readonly parent: CallOrigin | undefined;
  /** Undefined: it runs on another host. */
  readonly activation: Activation | undefined;
  readonly phase: TurnPhase;
  /** The outer turn, if this turn is reentrant. */
  readonly outer: CallOrigin | undefined;
}

/** A turn on another host. */
export class DistantTurn implements CallOrigin {
  readonly type: { readonly name: string };
  readonly id: string;
  readonly method: string;
  readonly host: string;
  /** Number of the turn on its host. */
  readonly number: number;
  readonly parent: CallOrigin | undefined;
  readonly activation = undefined;
  readonly phase = "running";
  readonly outer = undefined;

  constructor(type: string, id: string, method: string, host: string, number: number, parent: CallOrigin | undefined) {
    this.type = { name: type };
    this.id = id;
    this.method = method;
    this.host = host;
    this.number = number;
    this.parent = parent;
  }

  get label(): string {
    return `${this.type.name}/${this.id}.${this.method}`;
  }
}

/** True: the origin, or one that caused it, satisfies the condition. */
export function chainHas(cause: CallOrigin | undefined, found: (cause: CallOrigin) => boolean): boolean {
  for (let at = cause; at !== undefined; at = at.parent) if (found(at)) return true;
  return false;
}

/** `Cart/alice.checkout → Stock/tea.reserve`, oldest first. */
export function showChain(cause: CallOrigin): string {
  const labels: string[] = [];
  for (let at: CallOrigin | undefined = cause; at !== undefined; at = at.parent) labels.unshift(at.label);
  return labels.join(" → ");
}
