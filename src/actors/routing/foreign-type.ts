// A type that only other hosts have: it can be called, and nothing of it is ever in memory here.
import type { Activation } from "../activation/activation.ts";
import type { CallTarget, HandleMaker } from "../handle.ts";

const NOTHING: ReadonlyMap<string, Activation> = new Map();
const UNKNOWN: ReadonlySet<string> = new Set();

export class ForeignType implements CallTarget {
  readonly name: string;
  readonly options: { readonly callTimeoutMs: number };
  readonly methods = UNKNOWN;
  readonly activations = NOTHING;
  readonly instruments = undefined;
  makeHandle: HandleMaker | undefined;

  constructor(name: string, callTimeoutMs: number) {
    this.name = name;
    this.options = { callTimeoutMs };
  }
}
