// A host's stream at the host. It queues the messages of its owner, and checks and passes on the messages of
// the scheduler. It notifies its owner of its end exactly once.
import { LimpetError } from "../../../kernel/errors.ts";
import type { ControlListener, ControlStream, HostMessage, SchedulerMessage } from "../../../ports/control-messages.ts";
import type { Log } from "../../../ports/log.ts";
import type { HostReport, SchedulerReply } from "../../proto/gen/limpet/control/v1/control_pb.js";
import { ReplyReader, writeFailure, writeHostMessage } from "../codec/message-codec.ts";
import { fromStatus } from "../codec/status.ts";
import type { ControlLimits } from "../limits.ts";
import { StreamOutbox } from "../outbox.ts";

type Parting = { readonly code: string; readonly message: string };

/** The library function that opens a stream. */
export type OpenStream = (
  reports: AsyncIterable<HostReport>,
  options: { readonly signal: AbortSignal },
) => AsyncIterable<SchedulerReply>;

export class SchedulerStream implements ControlStream<HostMessage> {
  readonly #address: string;
  readonly #listener: ControlListener<SchedulerMessage>;
  readonly #log: Log;
  readonly #limits: ControlLimits;
  readonly #outbox: StreamOutbox<HostMessage | Parting, HostReport>;
  readonly #gone = new AbortController();
  readonly #reader = new ReplyReader();
  #linger: NodeJS.Timeout | undefined;
  #closed = false;
  /** Resolves when the stream has released everything. Never rejects. */
  readonly over: Promise<void>;

  constructor(
    open: OpenStream,
    listener: ControlListener<SchedulerMessage>,
    deps: { readonly address: string; readonly log: Log; readonly limits: ControlLimits },
  ) {
    this.#address = deps.address;
    this.#listener = listener;
    this.#log = deps.log;
    this.#limits = deps.limits;
    this.#outbox = new StreamOutbox(deps.limits.queue, (item) => [
      "kind" in item ? writeHostMessage(item) : writeFailure(item),
    ]);
    this.over = this.#listen(open);
  }

  send(message: HostMessage): void {
    if (this.#closed || this.#outbox.push(message)) return;
    this.#end(new LimpetError("LINK_FULL", `${this.#address} does not read its messages`));
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
        // After the end, further messages are read and dropped.
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
      const error = new LimpetError("INVARIANT", "internal error in the host; see its log", { cause: err });
      this.#end(error);
      this.#leave(error);
    }
  }

  /** The owner is notified after its current work. */
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

  /**
   * Queued messages are sent before the stream ends; the wait for a scheduler that does not read is limited.
   */
  #leave(parting: Parting | undefined): void {
    if (parting !== undefined) this.#outbox.push(parting);
    this.#outbox.end();
    this.#linger = setTimeout(() => this.#gone.abort(), this.#limits.lingerMs);
  }
}
