// A host's stream at the scheduler. Its first message, and no other, must be a hello. A host on another
// machine must not announce a loopback address, because no other host could reach it there.
// The scheduler reports a violation to the host, or a host that does not read, and ends the stream. The
// service is notified like of any other end.
import { setImmediate as soon } from "node:timers/promises";
import { isLoopback } from "../../../kernel/addresses.ts";
import { isLimpetError, LimpetError } from "../../../kernel/errors.ts";
import type { ControlService, Peer } from "../../../ports/cluster/control-service.ts";
import type { ControlListener, ControlStream, HostMessage, SchedulerMessage } from "../../../ports/control-messages.ts";
import type { Log } from "../../../ports/log.ts";
import type { HostReport, SchedulerReply } from "../../proto/gen/limpet/control/v1/control_pb.js";
import { readHostMessage, writeSchedulerMessage } from "../codec/message-codec.ts";
import { asLimpetError, fromStatus, rebuildError, toStatus } from "../codec/status.ts";
import { parseControlAddress, refuseMessage } from "../codec/value-codecs.ts";
import type { ControlLimits } from "../limits.ts";
import { StreamOutbox } from "../outbox.ts";

export interface HostStreamDeps {
  readonly service: ControlService;
  readonly peer: Peer;
  /** Aborts with the reason when nothing can be sent any more. */
  readonly over: AbortSignal;
  /** Ends the stream immediately, without a status, unless it has ended. */
  readonly cut: () => void;
  readonly log: Log;
  readonly limits: ControlLimits;
}

export class HostStream implements ControlStream<SchedulerMessage> {
  readonly #deps: HostStreamDeps;
  readonly #outbox: StreamOutbox<SchedulerMessage, SchedulerReply>;
  readonly #listener: ControlListener<HostMessage>;
  /** Timer for the first message. */
  readonly #patience: NodeJS.Timeout | undefined;
  #greeted = false;
  /** The host understands tables that refer to the hosts of another table. */
  #isShort = false;
  #closed = false;

  constructor(deps: HostStreamDeps) {
    const { limits, over, service, peer } = deps;
    this.#deps = deps;
    this.#outbox = new StreamOutbox(limits.queue, (message) => writeSchedulerMessage(message, this.#isShort));
    this.#listener = service.report(this, peer);
    // A follower has closed the stream by now.
    if (this.#closed) return;
    this.#patience = setTimeout(() => this.#refuse(tooLate(limits)), limits.firstMessageMs);
    over.addEventListener("abort", () => this.#lost(over.reason), { once: true });
  }

  /** Returns the replies to the host. */
  serve(reports: AsyncIterable<HostReport>): AsyncIterable<SchedulerReply> {
    void this.#listen(reports);
    return this.#outbox;
  }

  send(message: SchedulerMessage): void {
    if (this.#closed || this.#outbox.push(message)) return;
    this.#end(new LimpetError("LINK_FULL", `the host at ${this.#deps.peer.address} does not read its messages`));
    // A host that does not read cannot be notified.
    this.#deps.cut();
  }

  close(error?: { readonly code: string; readonly message: string }): void {
    if (this.#closed) return;
    this.#end(undefined);
    this.#sendStatus(error && (rebuildError(error.code, error.message) ?? asLimpetError(error)));
  }

  async #listen(reports: AsyncIterable<HostReport>): Promise<void> {
    try {
      // After the end, further reports are read and dropped, so that the host can read the reason.
      for await (const report of reports) if (!this.#closed) this.#take(report);
      // For a moment, a broken stream looks like one that has ended.
      await soon();
      if (!this.#deps.over.aborted) this.close();
    } catch (error) {
      await soon();
      if (this.#deps.over.aborted) this.#lost(error);
      else this.#refuse(isLimpetError(error) ? error : notUnderstood(error));
    }
  }

  #take({ report, ...rest }: HostReport): void {
    if (report.case === "failure") {
      const { code, message } = report.value;
      this.#end(rebuildError(code, message) ?? new LimpetError("UNREACHABLE", message));
      this.#sendStatus(undefined);
      return;
    }
    const message = readHostMessage({ report, ...rest });
    if ((message.kind === "hello") === this.#greeted) {
      refuseMessage(
        this.#greeted ? "a host must send one hello, got a second one" : "the first message of a host must be a hello",
      );
    }
    if (message.kind === "hello") this.#greet(message.address);
    if (report.case === "hello") this.#isShort = report.value.readsSameHostsAs;
    try {
      this.#listener.message(message);
    } catch (err) {
      this.#deps.log.error("control.failed", { err, message: message.kind });
      this.#refuse(asLimpetError(err));
    }
  }

  #greet(address: string): void {
    const { peer } = this.#deps;
    if (!peer.sameMachine && isLoopback(parseControlAddress(address)!.host)) throw unfindable(address, peer);
    this.#greeted = true;
    clearTimeout(this.#patience);
  }

  #refuse(error: LimpetError): void {
    if (this.#closed) return;
    this.#deps.log.warn("control.refused", { peer: this.#deps.peer.address, err: error });
    this.#end(error);
    this.#sendStatus(error);
  }

  #lost(reason: unknown): void {
    const error = fromStatus(reason, `the host at ${this.#deps.peer.address}`);
    if (!this.#closed && error.code === "INVARIANT") this.#deps.log.error("control.failed", { err: error });
    this.#outbox.cut();
    this.#end(error);
  }

  /** Ends the stream for both sides. The service is notified after its current work. */
  #end(error: LimpetError | undefined): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#patience);
    queueMicrotask(() => {
      try {
        this.#listener.closed(error);
      } catch (err) {
        this.#deps.log.error("control.failed", { err });
      }
    });
  }

  /** Sends the final status. A host that does not read it is disconnected. */
  #sendStatus(error: LimpetError | undefined): void {
    this.#outbox.end(error && toStatus(error));
    setTimeout(this.#deps.cut, this.#deps.limits.lingerMs).unref();
  }
}

const tooLate = ({ firstMessageMs }: ControlLimits) =>
  new LimpetError("REQUEST_TIMEOUT", `a host must send a hello within ${firstMessageMs} ms after it opens its stream`);

const notUnderstood = (error: unknown) =>
  new LimpetError("PROTOCOL", `a report of a host cannot be read: ${(error as Error).message}`, { cause: error });

const unfindable = (address: string, peer: Peer) =>
  new LimpetError(
    "OPTION_INVALID",
    `the host at ${peer.address} announces the address ${address}, which other machines cannot reach; ` +
      "set cluster.host to an address of its machine",
  );
