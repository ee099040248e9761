// Logs refused connections at a bounded rate: one line at once, then at most one in ten seconds with the
// number of omitted lines.
import type { Log, LogFields } from "../ports/log.ts";

const PAUSE_MS = 10_000;

export class RefusalLog {
  readonly #log: Log;
  readonly #event: string;
  #nextAt = Number.NEGATIVE_INFINITY;
  #leftOut = 0;

  constructor(log: Log, event: string) {
    this.#log = log;
    this.#event = event;
  }

  refused(fields: LogFields, now = performance.now()): void {
    if (now < this.#nextAt) {
      this.#leftOut++;
      return;
    }
    this.#nextAt = now + PAUSE_MS;
    this.#log.warn(this.#event, this.#leftOut === 0 ? fields : { ...fields, leftOut: this.#leftOut });
    this.#leftOut = 0;
  }
}
