// A host's stream at the host's end. What its owner sends is queued, what the scheduler says is checked and handed on, and
// however it ends, its owner hears of it once.
import { LimpetError } from "../../kernel/errors.ts";
import type { ControlListener, ControlStream } from "../../ports/control.ts";
import type { HostMessage, SchedulerMessage } from "../../ports/control-messages.ts";
import type { Log } from "../../ports/log.ts";
import type { HostReport, SchedulerReply } from "../proto/gen/limpet/control/v1/control_pb.js";
import { ReplyReader, writeFailure, writeHostMessage } from "./codec.ts";
import type { ControlLimits } from "./limits.ts";
import { Outbox } from "./outbox.ts";
import { fromStatus } from "./status.ts";

type Parting = { readonly code: string; readonly message: string };

/** How the library opens a stream. */
export type OpenStream = (
  reports: AsyncIterable<HostReport>,
  options: { readonly signal: AbortSignal },
) => AsyncIterable<SchedulerReply>;

export class SchedulerStream implements ControlStream<HostMessage> {
  readonly #address: string;
  readonly #listener: ControlListener<SchedulerMessage>;
  readonly #log: Log;
  readonly #limits: ControlLimits;
  readonly #outbox: Outbox<HostMessage | Parting, HostReport>;
  readonly #gone = new AbortController();
  readonly #reader = new ReplyReader();
  #linger: NodeJS.Timeout | undefined;
  #closed = false;
  /** Resolves when nothing of it is left. Never rejects. */
  readonly over: Promise<void>;

  constructor(
    open: OpenStream,
    listener: ControlListener<SchedulerMessage>,
    needs: { readonly address: string; readonly log: Log; readonly limits: ControlLimits },
  ) {
    this.#address = needs.address;
    this.#listener = listener;
    this.#log = needs.log;
    this.#limits = needs.limits;
    this.#outbox = new Outbox(needs.limits.queue, (item) => [
      "kind" in item ? writeHostMessage(item) : writeFailure(item),
    ]);
    this.over = this.#listen(open);
  }

  send(message: HostMessage): void {
    if (this.#closed || this.#outbox.push(message)) return;
    this.#end(new LimpetError("LINK_FULL", `${this.#address} does not read what it is sent`));
    this.#gone.abort();
  }

  close(error?: Parting): void {
    if (this.#closed) return;
    this.#end(undefined);
    this.#leave(error);
  }

  async #listen(open: OpenStream): Promise<void> {
    try {
      for await (const reply of open(this.#outbox, { signal: this.#gone.signal })) {
        // After the end, what still comes is read and dropped.
        const message = this.#closed ? undefined : this.#reader.read(reply);
        if (message !== undefined) this.#hand(message);
      }
      this.#end(undefined);
    } catch (thrown) {
      const error = fromStatus(thrown, this.#address);
      if (error.code === "INVARIANT" && !this.#closed) this.#log.error("control.failed", { err: error });
      this.#end(error);
    } finally {
      clearTimeout(this.#linger);
      this.#outbox.cut();
      // Reading may have ended before the stream has.
      this.#gone.abort();
    }
  }

  #hand(message: SchedulerMessage): void {
    try {
      this.#listener.message(message);
    } catch (err) {
      this.#log.error("control.failed", { err, message: message.kind });
      const error = new LimpetError("INVARIANT", "something broke inside the host; its log says what", { cause: err });
      this.#end(error);
      this.#leave(error);
    }
  }

  /** The owner hears of it when whatever it is doing is done. */
  #end(error: LimpetError | undefined): void {
    if (this.#closed) return;
    this.#closed = true;
    queueMicrotask(() => {
      try {
        this.#listener.closed(error);
      } catch (err) {
        this.#log.error("control.failed", { err });
      }
    });
  }

  /** What was sent is on its way before the stream ends; a scheduler that does not take it is not waited for. */
  #leave(parting: Parting | undefined): void {
    if (parting !== undefined) this.#outbox.push(parting);
    this.#outbox.end();
    this.#linger = setTimeout(() => this.#gone.abort(), this.#limits.lingerMs);
  }
}
