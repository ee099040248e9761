// One request and its answer: the memory it holds while it is in progress, and the sending of the answer.
import type { IncomingMessage, ServerResponse } from "node:http";
import { LimpetError } from "../../kernel/errors.ts";
import type { ByteBudget } from "../byte-budget.ts";
import { AnswerSending } from "./answer-sending.ts";
import { COMMON_HEADERS, errorAnswer, type HttpAnswer } from "./answers.ts";
import { checkBodyHeaders, hasBody, readBody } from "./body.ts";
import { checkBodyParts, measureBody } from "./body-weight.ts";
import type { HttpLimits } from "./limits.ts";

export interface ExchangeLimits {
  readonly limits: HttpLimits;
  readonly budget: ByteBudget;
}

/** With less than this part of the budget left, requests are rejected. */
const RESERVED = 16;

export class HttpExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly limits: HttpLimits;
  /** The limit of the body; the server lowers it to the limit of the route. */
  bodyBytes: number;
  answered = false;
  /** The request has a valid token, or no token is required. */
  isTrusted = true;
  readonly #expectsContinue: boolean;
  readonly #budget: ByteBudget;
  readonly #gone = new AbortController();
  #taken = 0;
  #sending: AnswerSending | undefined;
  /** The request has more bytes than the handler reads. */
  #isEndless = false;

  constructor(request: IncomingMessage, response: ServerResponse, shares: ExchangeLimits, expectsContinue: boolean) {
    this.request = request;
    this.response = response;
    this.limits = shares.limits;
    this.bodyBytes = shares.limits.bodyBytes;
    this.#budget = shares.budget;
    this.#expectsContinue = expectsContinue;
  }

  /** Aborts when the client disconnects before it has its answer. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** The body of the request, within limits. */
  async body(): Promise<Buffer> {
    const { request, response, bodyBytes: maxBytes } = this;
    checkBodyHeaders(request, maxBytes);
    const body = await readBody(request, response, {
      maxBytes,
      budget: this.#budget,
      onTaken: (bytes) => {
        this.#taken += bytes;
      },
      expectsContinue: this.#expectsContinue,
    });
    const measure = measureBody(body);
    checkBodyParts(measure);
    this.#charge(measure.weight);
    return body;
  }

  /** The memory of the parsed body stays charged until the exchange is over. */
  #charge(bytes: number): void {
    if (this.#taken + bytes > this.#budget.size) {
      const why = `the values of the body need about ${this.#taken + bytes} bytes of memory, more than is allowed`;
      throw new LimpetError("BODY_TOO_LARGE", why);
    }
    if (!this.#budget.take(bytes))
      throw new LimpetError("HOST_FULL", "too many large requests are in progress; retry later");
    this.#taken += bytes;
  }

  /** Rejects new requests before the budget is used up, so that no call runs whose answer cannot be sent. */
  get hasCapacity(): boolean {
    return this.#budget.left >= this.#budget.size / RESERVED;
  }

  answer(answer: HttpAnswer, closing: boolean): void {
    const { request, response, limits } = this;
    if (this.answered || request.socket.destroyed) return;
    this.answered = true;
    const bytes = answer.body === undefined ? 0 : Buffer.byteLength(answer.body);
    if (this.#fits(bytes)) this.#send(answer, bytes, closing);
    else this.#send(...tooMuch(bytes), closing);
    if (this.#isEndless) linger(request, response, limits);
  }

  #fits(bytes: number): boolean {
    const isSmall = bytes <= this.limits.smallAnswerBytes;
    if (!isSmall && !this.#budget.take(bytes)) return false;
    if (isSmall) this.#budget.force(bytes);
    this.#taken += bytes;
    return true;
  }

  #send(answer: HttpAnswer, bytes: number, closing: boolean): void {
    const { response } = this;
    this.#isEndless = this.#bodyIsEndless();
    const headers: Record<string, string | number> = { ...COMMON_HEADERS, ...answer.headers };
    if (answer.body !== undefined) headers["content-length"] = bytes;
    if (this.#isEndless || closing) headers.connection = "close";
    response.writeHead(answer.status, headers);
    this.#sending = new AnswerSending(response, bytes);
    this.#sending.send(answer.body, !this.#isEndless);
  }

  /** Adds elapsed time. A client that does not read its answer must not keep it in memory for ever. */
  waited(ms: number): void {
    if (this.#sending?.waited(ms, this.limits) === true) this.request.socket.destroy();
  }

  /** Ends the exchange. May be called again. */
  end(): void {
    if (!this.answered) this.#gone.abort(new LimpetError("CALL_CANCELLED", "the client went away"));
    this.#budget.giveBack(this.#taken);
    this.#taken = 0;
  }

  /**
   * More bytes may arrive than the server waits for. Node itself discards an announced body within the
   * limits.
   */
  #bodyIsEndless(): boolean {
    const { request } = this;
    if (request.complete || !hasBody(request)) return false;
    return Number(request.headers["content-length"] ?? Number.POSITIVE_INFINITY) > this.limits.bodyBytes;
  }
}

/** The call has run, so the error must not claim that nothing happened. */
function tooMuch(bytes: number): [HttpAnswer, number] {
  const why = `no memory for the answer of ${bytes} bytes beside answers that clients have not read yet`;
  const answer = errorAnswer(new LimpetError("ANSWER_LOST", why));
  return [answer, Buffer.byteLength(answer.body ?? "")];
}

/**
 * Discards further input for a while after the whole answer is written. Closing the connection while bytes
 * arrive would make the kernel reset it, and the client might never read the answer.
 */
function linger(request: IncomingMessage, response: ServerResponse, limits: HttpLimits): void {
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
