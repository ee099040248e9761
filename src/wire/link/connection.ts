// One connection, for both sides. It exchanges hellos, splits received bytes into messages, and sends the
// messages of one tick as one frame. It waits while the peer does not read, and detects a dead peer.
// Invalid input ends the connection. The connection never throws and ends exactly once.
import type { Socket } from "node:net";
import { isLimpetError, LimpetError } from "../../kernel/errors.ts";
import type { ByteBudget } from "../byte-budget.ts";
import { FrameReader, type FrameSink } from "./frame-reader.ts";
import { FrameWriter } from "./frame-writer.ts";
import { type LinkHello, readHello, writeHello } from "./hello.ts";
import type { LinkLimits } from "./limits.ts";
import { broken, MessageReader } from "./message-reader.ts";
import { FRAME_KIND } from "./messages.ts";
import { LinkOutbox, type OutgoingFrame } from "./outbox.ts";

/** The owner of a connection: the calling side or the serving side. */
export interface LinkConnectionDeps {
  /** Calls without a final answer. */
  readonly inProgress: number;
  /** The connection stops reading while more bytes than this wait to be sent. */
  readonly unsentBytes: number;
  /** The peer has sent its hello, and messages may be sent. */
  opened(hello: LinkHello): void;
  /** Reads the fields of one message after its kind. Throws when they are invalid. */
  message(kind: number, fields: number, reader: MessageReader): void;
  /** All received bytes have been read. */
  wasRead(): void;
  /** The connection has ended, with the reason. Called once. */
  closed(reason: LimpetError): void;
}

/** One writer serves all connections: a frame is begun and finished without interruption. */
const writer = new FrameWriter();

export class LinkConnection implements FrameSink {
  readonly #socket: Socket;
  readonly #own: LinkHello;
  readonly #limits: LinkLimits;
  readonly #deps: LinkConnectionDeps;
  readonly #reader = new MessageReader();
  readonly #frames: FrameReader;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly outbox = new LinkOutbox();
  readonly #ping = new Sign(FRAME_KIND.ping);
  readonly #pong = new Sign(FRAME_KIND.pong);
  readonly #bye = new Sign(FRAME_KIND.bye);
  /** `ended`: this side has closed its end and waits for the peer to close. */
  #state: "new" | "open" | "ended" | "closed" = "new";
  #serves = false;
  #flushing = false;
  /** The socket is full. */
  #blocked = false;
  #hasReceived = true;
  #quietChecks = 0;
  #owingChecks = 0;
  #pinged = false;

  constructor(socket: Socket, own: LinkHello, limits: LinkLimits, deps: LinkConnectionDeps, held?: ByteBudget) {
    this.#socket = socket;
    this.#own = own;
    this.#limits = limits;
    this.#deps = deps;
    this.#frames = new FrameReader(limits.helloBytes, held);
  }

  /**
   * The caller sends its hello first and the server answers it. A caller with an answer is admitted, and its
   * messages are read, even by a server that is closing.
   */
  start(role: "calls" | "serves"): void {
    const { helloMs, checkMs } = this.#limits;
    this.#serves = role === "serves";
    this.#after(helloMs, () => {
      if (this.#state === "new") this.fail(broken("it did not send a hello in time"));
    });
    this.#timers.push(setInterval(() => this.#check(), checkMs).unref());
    this.#socket
      .setNoDelay(true)
      .on("data", (piece: Buffer) => this.#read(piece))
      .on("drain", () => this.#drained())
      .on("error", (error: NodeJS.ErrnoException) => this.fail(hungUp(error.code ?? error.message)))
      .on("end", () => this.fail(hungUp("it closed the connection")))
      .on("close", () => this.fail(hungUp("it closed the connection")));
    if (!this.#serves) this.#introduce();
  }

  #introduce(): void {
    this.#socket.write(writeHello(writer, this.#own));
  }

  get isOpen(): boolean {
    return this.#state === "open";
  }

  /** A message sent now leaves at the end of this tick. */
  get isReady(): boolean {
    return this.#state === "open" && !this.#blocked;
  }

  send(item: OutgoingFrame): void {
    this.outbox.push(item);
    if (!this.isReady) return;
    // Gives the peer work while this process continues.
    if (this.outbox.size >= this.#limits.eager) this.flush();
    else if (!this.#flushing) this.#flushSoon();
  }

  sendBye(): void {
    this.#sign(this.#bye);
  }

  /** Closes this end; the peer follows. */
  end(): void {
    if (this.#state !== "open") return;
    this.#state = "ended";
    this.#after(this.#limits.lingerMs, () => this.fail(hungUp("it did not close the connection in time")));
    this.#socket.end();
  }

  /** Ends the connection immediately; later calls do nothing. */
  fail(reason: LimpetError): void {
    if (this.#state === "closed") return;
    const isStranger = this.#state === "new" && this.#serves;
    this.#state = "closed";
    for (const timer of this.#timers) clearTimeout(timer);
    this.#frames.close();
    if (isStranger) this.#socket.destroySoon();
    else this.#socket.destroy();
    this.#deps.closed(reason);
  }

  frame(bytes: Buffer, start: number, end: number): boolean {
    const reader = this.#reader;
    reader.open(bytes, start, end);
    if (this.#state === "new") {
      // A rejected peer gets the hello too: it finds the same fault and knows the reason.
      if (this.#serves) this.#introduce();
      this.#open(readHello(reader, this.#own));
      return true;
    }
    const messages = reader.list();
    for (let i = 0; i < messages && this.#state === "open"; i++) {
      const fields = reader.list();
      const kind = reader.uint();
      if (kind !== FRAME_KIND.ping && kind !== FRAME_KIND.pong) this.#deps.message(kind, fields, reader);
      else if (fields !== 1) throw broken("a ping or pong has the wrong number of fields");
      else if (kind === FRAME_KIND.ping) this.#sign(this.#pong);
    }
    if (this.#state !== "open") return false;
    reader.close();
    return true;
  }

  #open(hello: LinkHello): void {
    this.#state = "open";
    this.#frames.maxBytes = this.#limits.frameBytes;
    this.#deps.opened(hello);
    if (this.outbox.size > 0) this.#flushSoon();
  }

  #read(piece: Buffer): void {
    this.#hasReceived = true;
    try {
      this.#frames.push(piece, this);
    } catch (error) {
      // Invalid values can make our own code throw. The message of such an error may quote them, so it is
      // replaced.
      this.fail(isLimpetError(error, "PROTOCOL") ? error : broken("it sent bytes that are not a valid message"));
      return;
    }
    if (this.#state !== "open") return;
    this.#deps.wasRead();
    if (this.#isOverfull()) this.#socket.pause();
  }

  #flushSoon(): void {
    this.#flushing = true;
    process.nextTick(flush, this);
  }

  flushed(): void {
    this.#flushing = false;
    this.flush();
  }

  flush(): void {
    const { outbox } = this;
    const socket = this.#socket;
    while (this.isReady && outbox.size > 0) {
      writer.begin();
      outbox.fill(writer, this.#limits.batchBytes);
      if (writer.count === 0) continue;
      const frame = writer.finish();
      const more = socket.write(frame);
      // The socket holds no bytes, so the frame may be overwritten.
      if (socket.writableLength === 0) writer.reuse(frame);
      else this.#blocked = !more;
    }
    if (socket.isPaused() && !this.#isOverfull()) socket.resume();
  }

  #drained(): void {
    this.#hasReceived = true;
    this.#blocked = false;
    this.flush();
  }

  #isOverfull(): boolean {
    return this.outbox.bytes + this.#socket.writableLength > this.#deps.unsentBytes;
  }

  #sign(sign: Sign): void {
    if (sign.waits) return;
    sign.waits = true;
    this.send(sign);
  }

  /**
   * A peer that owes an answer and sends nothing is gone, even when the operating system reports no close.
   */
  #check(): void {
    if (this.#hasReceived) {
      this.#hasReceived = false;
      this.#pinged = false;
      this.#quietChecks = 0;
      this.#owingChecks = 0;
      return;
    }
    if (this.#state !== "open") return;
    const { silentChecks, idleChecks } = this.#limits;
    const owes = this.#deps.inProgress > 0 || this.#blocked || this.#pinged;
    if (owes && ++this.#owingChecks > silentChecks) {
      this.fail(hungUp("it has been silent for too long"));
    } else if ((owes || ++this.#quietChecks >= idleChecks) && !this.#pinged) {
      this.#pinged = true;
      this.#sign(this.#ping);
    }
  }

  #after(ms: number, then: () => void): void {
    this.#timers.push(setTimeout(then, ms).unref());
  }
}

/** One function for all flushes, so no flush allocates a closure. */
const flush = (connection: LinkConnection): void => connection.flushed();

const hungUp = (why: string): LimpetError => new LimpetError("ANSWER_LOST", why);

/** A message that consists only of its kind: ping, pong, bye. One that already waits is not queued twice. */
class Sign implements OutgoingFrame {
  readonly bytes = 8;
  readonly takenOut = false;
  readonly #kind: number;
  waits = false;

  constructor(kind: number) {
    this.#kind = kind;
  }

  write(writer: FrameWriter): void {
    this.waits = false;
    writer.message(1, this.#kind);
  }
}
