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

/** What is wrong with a value that is too large to be kept. */
export const tooLarge = (what: string, bytes: number, most: number): Refused =>
  new Refused(422, "structural_limit_exceeded", `${what} has ${bytes} bytes; ${most} are allowed`, {
    limit_kind: "payload_size",
    current_value: bytes,
    configured_limit: most,
  });
