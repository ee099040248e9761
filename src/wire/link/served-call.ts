// A call of another host while this host serves it. The first answer counts. Later answers, and answers to a
// caller that has left, are dropped.
import { LimpetError } from "../../kernel/errors.ts";
import { serializeError } from "../../kernel/serialized-error.ts";
import type { Cancel, Ownership, RemoteAnswer } from "../../ports/links.ts";
import type { FrameWriter } from "./frame-writer.ts";
import { FRAME_KIND, type Primitive } from "./messages.ts";
import type { OutgoingFrame } from "./outbox.ts";
import { encodeLinkResult, fitsFrame, isPrimitive } from "./payloads.ts";

/** The connection that carries the call. */
export interface Server {
  /** The largest result. */
  readonly resultBytes: number;
  /** The call has its final answer. */
  answered(call: ServedCall): void;
}

const ENVELOPE = 32;

export class ServedCall implements RemoteAnswer, OutgoingFrame {
  readonly #server: Server;
  readonly number: number;
  readonly takenOut = false;
  #cancel: Cancel | undefined;
  #isOver = false;
  #kind = 0;
  #payload: Primitive | undefined;
  #ownership: Ownership | undefined;
  bytes = ENVELOPE;

  constructor(server: Server, number: number) {
    this.#server = server;
    this.number = number;
  }

  value(result: unknown): void {
    if (this.#isOver) return;
    if (result === undefined || isPrimitive(result)) this.#respond(FRAME_KIND.value, result);
    else this.#encode(result);
  }

  error(error: unknown): void {
    if (this.#isOver) return;
    const text = JSON.stringify(serializeError(error));
    if (fitsFrame(text, this.#server.resultBytes)) this.#respond(FRAME_KIND.error, text);
    else this.error(new LimpetError("RESULT_INVALID", `the error is larger than ${this.#server.resultBytes} bytes`));
  }

  notOwner(ownership: Ownership): void {
    if (this.#isOver) return;
    this.#ownership = ownership;
    this.#respond(FRAME_KIND.notOwner, undefined);
  }

  /** Registers the cancellation to run when the caller no longer waits. */
  onCancel(cancel: Cancel): void {
    if (!this.#isOver) this.#cancel = cancel;
    // The call was cancelled while it began.
    else if (this.#kind === FRAME_KIND.givenUp) cancel();
  }

  /** The caller no longer waits for the call. */
  giveUp(): void {
    if (this.#isOver) return;
    const cancel = this.#cancel;
    this.#respond(FRAME_KIND.givenUp, undefined);
    cancel?.();
  }

  write(writer: FrameWriter): void {
    const kind = this.#kind;
    if (kind === FRAME_KIND.notOwner) {
      const { term, version, owner } = this.#ownership!;
      writer.message(5, kind);
      writer.uint(this.number);
      writer.number(term);
      writer.number(version);
      writer.primitive(owner ?? null);
      return;
    }
    const payload = this.#payload;
    writer.message(payload === undefined ? 2 : 3, kind);
    writer.uint(this.number);
    if (payload !== undefined) writer.primitive(payload);
  }

  #encode(result: unknown): void {
    let text: string;
    try {
      text = encodeLinkResult(result);
    } catch (error) {
      this.error(error);
      return;
    }
    this.#respond(FRAME_KIND.text, text);
  }

  #respond(kind: number, payload: Primitive | undefined): void {
    if (typeof payload === "string" && !fitsFrame(payload, this.#server.resultBytes)) {
      this.error(new LimpetError("RESULT_INVALID", `the result is larger than ${this.#server.resultBytes} bytes`));
      return;
    }
    this.#isOver = true;
    this.#cancel = undefined;
    this.#kind = kind;
    this.#payload = payload;
    if (typeof payload === "string") this.bytes = ENVELOPE + payload.length;
    this.#server.answered(this);
  }
}
