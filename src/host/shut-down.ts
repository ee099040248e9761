// Closes the parts of a process. A part that fails to close is logged, and the other parts close all the
// same.
import type { Log } from "../ports/log.ts";

export class ShutDown {
  readonly #log: Log;
  #failure: { readonly error: unknown } | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Closes these parts side by side. Resolves when all of them have closed or failed; never rejects. */
  async close(parts: Readonly<Record<string, (() => unknown) | undefined>>): Promise<void> {
    const closing = Object.entries(parts).map(async ([part, close]) => {
      try {
        await close?.();
      } catch (error) {
        this.#failure ??= { error };
        this.#log.error("close.failed", { part, err: error });
      }
    });
    await Promise.all(closing);
  }

  /** Throws the first failure, if there was one. */
  done(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
