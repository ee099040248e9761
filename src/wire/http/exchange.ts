// One request and its answer: what it holds while it is under way, and how the answer gets out.
import type { IncomingMessage, ServerResponse } from "node:http";
import { LimpetError } from "../../kernel/errors.ts";
import type { ByteBudget } from "../byte-budget.ts";
import { type Answer, COMMON_HEADERS } from "./answers.ts";
import { checkBodyHeaders, hasBody, readBody } from "./body.ts";
import type { DoorLimits } from "./limits.ts";

export interface DoorShares {
  readonly limits: DoorLimits;
  readonly budget: ByteBudget;
}

export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly limits: DoorLimits;
  answered = false;
  readonly #expectsContinue: boolean;
  readonly #budget: ByteBudget;
  readonly #gone = new AbortController();
  #taken = 0;

  constructor(request: IncomingMessage, response: ServerResponse, shares: DoorShares, expectsContinue: boolean) {
    this.request = request;
    this.response = response;
    this.limits = shares.limits;
    this.#budget = shares.budget;
    this.#expectsContinue = expectsContinue;
  }

  /** Aborts when the client goes away before it has its answer. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** What the request brings along, within limits. */
  async body(): Promise<Buffer> {
    const { request, response, limits } = this;
    checkBodyHeaders(request, limits.bodyBytes);
    return readBody(request, response, {
      maxBytes: limits.bodyBytes,
      budget: this.#budget,
      onTaken: (bytes) => {
        this.#taken += bytes;
      },
      expectsContinue: this.#expectsContinue,
    });
  }

  answer(answer: Answer, closing: boolean): void {
    const { request, response, limits } = this;
    if (this.answered || request.socket.destroyed) return;
    this.answered = true;
    const endless = this.#bodyIsEndless();
    const headers: Record<string, string | number> = { ...COMMON_HEADERS, ...answer.headers };
    if (answer.body !== undefined) headers["content-length"] = Buffer.byteLength(answer.body);
    if (endless || closing) headers.connection = "close";
    response.writeHead(answer.status, headers);
    // Somebody who does not read must not hold the answer in memory for ever: Node closes the connection.
    response.setTimeout(limits.answerTimeoutMs);
    if (!endless) {
      response.end(answer.body);
    } else {
      if (answer.body !== undefined) response.write(answer.body);
      linger(request, response, limits);
    }
  }

  /** Over, in whatever way. May be called again. */
  end(): void {
    if (!this.answered) this.#gone.abort(new LimpetError("CALL_CANCELLED", "the client went away"));
    this.#budget.giveBack(this.#taken);
    this.#taken = 0;
  }

  /** More may come than anybody will wait for. What is announced and within limits is read away by Node itself. */
  #bodyIsEndless(): boolean {
    const { request } = this;
    if (request.complete || !hasBody(request)) return false;
    return Number(request.headers["content-length"] ?? Number.POSITIVE_INFINITY) > this.limits.bodyBytes;
  }
}

/**
 * The whole answer is written, and the connection will close. Closing it while bytes come in would make the kernel
 * reset it, and the client might never see the answer, so what comes is thrown away for a moment.
 */
function linger(request: IncomingMessage, response: ServerResponse, limits: DoorLimits): void {
  let left = limits.lingerBytes;
  const end = () => {
    clearTimeout(timer);
    response.end();
  };
  const timer = setTimeout(end, limits.lingerMs);
  request.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) end();
  });
  request.once("end", end).once("close", end).resume();
}
