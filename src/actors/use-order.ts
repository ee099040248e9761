// Activations of one type from the least to the most recently used. Each carries its own neighbours, so that noting a
// use is a few pointers and an actor at rest costs no timer.
import { invariant } from "../kernel/errors.ts";
import type { Activation } from "./activation.ts";

export class UseOrder {
  #oldest: Activation | undefined;
  #newest: Activation | undefined;

  get oldest(): Activation | undefined {
    return this.#oldest;
  }

  add(activation: Activation): void {
    activation.older = this.#newest;
    activation.newer = undefined;
    if (this.#newest === undefined) this.#oldest = activation;
    else this.#newest.newer = activation;
    this.#newest = activation;
  }

  remove(activation: Activation): void {
    const present = activation.older !== undefined || this.#oldest === activation;
    invariant(present, "an activation leaves the order it is in");
    if (activation.older === undefined) this.#oldest = activation.newer;
    else activation.older.newer = activation.newer;
    if (activation.newer === undefined) this.#newest = activation.older;
    else activation.newer.older = activation.older;
    activation.older = undefined;
    activation.newer = undefined;
  }

  touch(activation: Activation): void {
    if (this.#newest === activation) return;
    this.remove(activation);
    this.add(activation);
  }
}
