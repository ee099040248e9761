// Sends an answer as fast as its client reads it, and counts for how long the client has read nothing. A
// large answer goes out in chunks, because the progress of one large write is not visible.
//
// Time is counted by calls of `waited`, not by a clock, so that a suspended process does not mistake its
// clients for slow ones.
import type { ServerResponse } from "node:http";
import type { HttpLimits } from "./limits.ts";

const CHUNK_BYTES = 64 * 1024;

export class AnswerSending {
  readonly #response: ServerResponse;
  readonly #bytes: number;
  /** Since the client last read something, and since the sending began. */
  #quietMs = 0;
  #totalMs = 0;

  constructor(response: ServerResponse, bytes: number) {
    this.#response = response;
    this.#bytes = bytes;
  }

  /** `ends`: nothing follows. */
  send(body: string | undefined, ends: boolean): void {
    if (body === undefined) this.#last(undefined, ends);
    else if (this.#bytes <= CHUNK_BYTES) this.#last(body, ends);
    else this.#sendFrom(Buffer.from(body), 0, ends);
  }

  #sendFrom(body: Buffer, from: number, ends: boolean): void {
    const response = this.#response;
    for (let at = from; ; at += CHUNK_BYTES) {
      this.#quietMs = 0;
      const chunk = body.subarray(at, at + CHUNK_BYTES);
      const next = at + CHUNK_BYTES;
      if (next >= body.length) {
        this.#last(chunk, ends);
        return;
      }
      if (!response.write(chunk)) {
        response.once("drain", () => this.#sendFrom(body, next, ends));
        return;
      }
    }
  }

  #last(chunk: string | Buffer | undefined, ends: boolean): void {
    if (ends) this.#response.end(chunk);
    else if (chunk !== undefined) this.#response.write(chunk);
  }

  /**
   * Adds elapsed time. Returns true when the client is too slow. An answer that waits behind another one on
   * its connection is not checked.
   */
  waited(ms: number, { answerTimeoutMs, answerBytesPerSecond }: HttpLimits): boolean {
    if (this.#response.socket === null) return false;
    this.#quietMs += ms;
    this.#totalMs += ms;
    const allowedMs = answerTimeoutMs + (this.#bytes / answerBytesPerSecond) * 1_000;
    return this.#quietMs > answerTimeoutMs || this.#totalMs > allowedMs;
  }
}
