// What a worker elsewhere, or whoever steers workflows over HTTP, is told when something cannot be done: the status, the reason that
// programs look at, and what more they are told along with it.
import { LimpetError } from "../kernel/errors.ts";

export class Refused extends LimpetError {
  readonly reason: string;
  readonly extras: Readonly<Record<string, unknown>>;
  readonly #status: number;

  constructor(status: number, reason: string, message: string, extras: Readonly<Record<string, unknown>> = {}) {
    super("REQUEST_INVALID", message);
    this.#status = status;
    this.reason = reason;
    this.extras = extras;
  }

  override get status(): number {
    return this.#status;
  }
}

/** A field that makes no sense. */
export const invalidField = (field: string, problem: string): Refused =>
  new Refused(422, "validation_failed", `${field}: ${problem}`, { errors: { [field]: [problem] } });
