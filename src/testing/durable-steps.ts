// The durable steps of a test: every write of its processes in order, as text for display. A process may end
// between any two of them, and a test names the step at which it does.
import { LimpetError } from "../kernel/errors.ts";

/** The number of the step from now on, from 1; or a part of the text of the next one. */
export type WhichStep = number | string;

/** Effect of a step: the process writes, or ends before the write, or ends before it gets the response. */
export type AtStep = "writes" | "ends before" | "ends after";

export class DurableSteps {
  readonly #written: string[] = [];
  #plan: { readonly isIt: (text: string, number: number) => boolean; readonly then: AtStep } | undefined;

  /** The steps so far. */
  get written(): readonly string[] {
    return this.#written;
  }

  plan(which: WhichStep, then: AtStep): void {
    if (typeof which === "string") {
      this.#plan = { isIt: (text) => text.includes(which), then };
      return;
    }
    if (!Number.isSafeInteger(which) || which < 1) {
      throw new LimpetError("ARGUMENT_INVALID", `there is no step ${which} from now on; count them from 1`);
    }
    const wanted = this.#written.length + which;
    this.#plan = { isIt: (_, number) => number === wanted, then };
  }

  /** Called when a process is about to write a step. */
  next(text: string): AtStep {
    const number = this.#written.length + 1;
    const plan = this.#plan;
    const isPlanned = plan?.isIt(text, number) === true;
    if (isPlanned) this.#plan = undefined;
    const then = isPlanned ? plan.then : "writes";
    if (then !== "ends before") this.#written.push(text);
    return then;
  }
}
