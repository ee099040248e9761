// Thrown by `ctx.continueAsNew`: the code goes no further.
import type { Wire } from "./events.ts";

export class Continued {
  readonly input: Wire;

  constructor(input: Wire) {
    this.input = input;
  }
}
