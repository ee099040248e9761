// The rejection of a request by a remote worker or an HTTP client: the status, the reason for programs, and
// further fields.
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

/** Rejects a field with an invalid value. */
export const invalidField = (field: string, problem: string): Refused =>
  new Refused(422, "validation_failed", `${field}: ${problem}`, { errors: { [field]: [problem] } });

/** Rejects a value above the size limit. */
export const tooLarge = (what: string, bytes: number, most: number): Refused =>
  new Refused(422, "structural_limit_exceeded", `${what} has ${bytes} bytes; ${most} are allowed`, {
    limit_kind: "payload_size",
    current_value: bytes,
    configured_limit: most,
  });
