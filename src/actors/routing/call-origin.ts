// What made a call: a turn of an actor, here or on another host, that waits for it. Chains of causes tell whether a call comes
// back to an actor that waits for it, wherever the links of the chain are.
import type { Activation } from "../activation/activation.ts";
import type { TurnPhase } from "../activation/turn.ts";

export interface CallOrigin {
  readonly type: { readonly name: string };
  readonly id: string;
  readonly method: string;
  /** For people: `Cart/alice.add`. */
  readonly label: string;
  readonly parent: CallOrigin | undefined;
  /** Undefined: it runs on another host. */
  readonly activation: Activation | undefined;
  readonly phase: TurnPhase;
  /** The running turn inside which it runs, by reentrancy. */
  readonly outer: CallOrigin | undefined;
}

/** A turn on another host. */
export class DistantTurn implements CallOrigin {
  readonly type: { readonly name: string };
  readonly id: string;
  readonly method: string;
  readonly host: string;
  /** Its number over there. */
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

/** Does it, or one that caused it, satisfy the condition? */
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
