// Activations of one type from the least to the most recently used. Each activation holds its own links, so
// recording a use changes a few pointers, and an idle actor needs no timer.
import { invariant } from "../../kernel/errors.ts";
import type { Activation } from "./activation.ts";

export class UseOrder {
  #oldest: Activation | undefined;
  #newest: Activation | undefined;
  /** The newest activation counted as idle; all older ones are counted too. */
  #counted: Activation | undefined;

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
    if (this.#counted === activation) this.#counted = activation.older;
    if (activation.older === undefined) this.#oldest = activation.newer;
    else activation.older.newer = activation.newer;
    if (activation.newer === undefined) this.#newest = activation.older;
    else activation.newer.older = activation.older;
    activation.older = undefined;
    activation.newer = undefined;
  }

  /** Number of activations idle since `since` that earlier calls have not counted. */
  countIdle(since: number): number {
    let count = 0;
    let at = this.#counted === undefined ? this.#oldest : this.#counted.newer;
    for (; at !== undefined && at.lastUsed <= since; at = at.newer) {
      this.#counted = at;
      if (at.idle) count++;
    }
    return count;
  }

  touch(activation: Activation): void {
    if (this.#counted === activation) this.#counted = activation.older;
    if (this.#newest === activation) return;
    this.remove(activation);
    this.add(activation);
  }
}
