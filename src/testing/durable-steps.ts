// The durable steps of a test: everything that its processes write, in order, told for people. Between any two of them a process may end,
// and a step is where a test says that it does.
import { LimpetError } from "../kernel/errors.ts";

/** The how-manieth from now on, from 1; or the next whose text has this in it. */
export type WhichStep = number | string;

/** What a process does at a step: it writes, or it ends before it could, or before it hears that it has. */
export type AtStep = "writes" | "ends before" | "ends after";

export class DurableSteps {
  readonly #told: string[] = [];
  #plan: { readonly isIt: (text: string, number: number) => boolean; readonly then: AtStep } | undefined;

  /** So far. */
  get told(): readonly string[] {
    return this.#told;
  }

  plan(which: WhichStep, then: AtStep): void {
    if (typeof which === "string") {
      this.#plan = { isIt: (text) => text.includes(which), then };
      return;
    }
    if (!Number.isSafeInteger(which) || which < 1) {
      throw new LimpetError("ARGUMENT_INVALID", `there is no step ${which} from now on; count them from 1`);
    }
    const wanted = this.#told.length + which;
    this.#plan = { isIt: (_, number) => number === wanted, then };
  }

  /** A process is about to write this. */
  next(text: string): AtStep {
    const number = this.#told.length + 1;
    const plan = this.#plan;
    const isPlanned = plan?.isIt(text, number) === true;
    if (isPlanned) this.#plan = undefined;
    const then = isPlanned ? plan.then : "writes";
    if (then !== "ends before") this.#told.push(text);
    return then;
  }
}
