// One connection, as both sides see it: it introduces itself, cuts what arrives into messages, sends what was said in one
// tick as one frame, waits when the other side does not take it, and notices when nobody is there any more.
// What arrives broken ends the connection. It never throws, and ends exactly once.
import type { Socket } from "node:net";
import { isLimpetError, LimpetError } from "../../kernel/errors.ts";
import type { ByteBudget } from "../byte-budget.ts";
import { FrameReader, type FrameSink } from "./frame-reader.ts";
import { FrameWriter } from "./frame-writer.ts";
import { type Hello, readHello, writeHello } from "./hello.ts";
import type { LinkLimits } from "./limits.ts";
import { broken, MessageReader } from "./message-reader.ts";
import { KIND } from "./messages.ts";
import { Outbox, type Outgoing } from "./outbox.ts";
import { Sign } from "./sign.ts";

/** What is behind a connection: the side that calls, or the side that serves. */
export interface LinkConnectionDeps {
  /** Calls without their last word. */
  readonly underWay: number;
  /** Nothing is read while more than this waits to be sent. */
  readonly unsentBytes: number;
  /** The other side has introduced itself, and may be spoken to. */
  opened(hello: Hello): void;
  /** Reads the fields of one message after its kind. Throws when they are wrong. */
  message(kind: number, fields: number, reader: MessageReader): void;
  /** Everything that had arrived has been read. */
  wasRead(): void;
  /** It is over, and why. Called once. */
  closed(reason: LimpetError): void;
}

/** One for all connections: a frame is begun and finished in one go. */
const writer = new FrameWriter();

export class Connection implements FrameSink {
  readonly #socket: Socket;
  readonly #own: Hello;
  readonly #limits: LinkLimits;
  readonly #deps: LinkConnectionDeps;
  readonly #reader = new MessageReader();
  readonly #frames: FrameReader;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly outbox = new Outbox();
  readonly #ping = new Sign(KIND.ping);
  readonly #pong = new Sign(KIND.pong);
  readonly #bye = new Sign(KIND.bye);
  /** `ended`: this side has hung up and waits for the other to do so. */
  #state: "new" | "open" | "ended" | "closed" = "new";
  #serves = false;
  #flushing = false;
  /** The socket is full. */
  #blocked = false;
  #heard = true;
  #quietChecks = 0;
  #owingChecks = 0;
  #pinged = false;

  constructor(socket: Socket, own: Hello, limits: LinkLimits, deps: LinkConnectionDeps, held?: ByteBudget) {
    this.#socket = socket;
    this.#own = own;
    this.#limits = limits;
    this.#deps = deps;
    this.#frames = new FrameReader(limits.helloBytes, held);
  }

  /**
   * The caller introduces itself first. Who serves answers that: a caller that has its answer knows that it was let in, and what
   * it then sends is read, even by a door that is closing.
   */
  start(role: "calls" | "serves"): void {
    const { helloMs, checkMs } = this.#limits;
    this.#serves = role === "serves";
    this.#after(helloMs, () => {
      if (this.#state === "new") this.fail(broken("it did not say hello in time"));
    });
    this.#timers.push(setInterval(() => this.#check(), checkMs).unref());
    this.#socket
      .setNoDelay(true)
      .on("data", (piece: Buffer) => this.#read(piece))
      .on("drain", () => this.#drained())
      .on("error", (error: NodeJS.ErrnoException) => this.fail(hungUp(error.code ?? error.message)))
      .on("end", () => this.fail(hungUp("it hung up")))
      .on("close", () => this.fail(hungUp("it hung up")));
    if (!this.#serves) this.#introduce();
  }

  #introduce(): void {
    this.#socket.write(writeHello(writer, this.#own));
  }

  get isOpen(): boolean {
    return this.#state === "open";
  }

  /** What is said now goes at the end of this tick. */
  get isReady(): boolean {
    return this.#state === "open" && !this.#blocked;
  }

  say(item: Outgoing): void {
    this.outbox.push(item);
    if (!this.isReady) return;
    // So that the other side has something to do while this one goes on.
    if (this.outbox.size >= this.#limits.eager) this.flush();
    else if (!this.#flushing) this.#flushSoon();
  }

  sayBye(): void {
    this.#sign(this.#bye);
  }

  /** Hangs up; the other side follows. */
  end(): void {
    if (this.#state !== "open") return;
    this.#state = "ended";
    this.#after(this.#limits.lingerMs, () => this.fail(hungUp("it did not hang up in time")));
    this.#socket.end();
  }

  /** Ends it at once; later calls do nothing. */
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
      // Also to one that is refused: it finds the same fault, and knows why.
      if (this.#serves) this.#introduce();
      this.#open(readHello(reader, this.#own));
      return true;
    }
    const messages = reader.list();
    for (let i = 0; i < messages && this.#state === "open"; i++) {
      const fields = reader.list();
      const kind = reader.uint();
      if (kind !== KIND.ping && kind !== KIND.pong) this.#deps.message(kind, fields, reader);
      else if (fields !== 1) throw broken("a sign of life has a wrong shape");
      else if (kind === KIND.ping) this.#sign(this.#pong);
    }
    if (this.#state !== "open") return false;
    reader.close();
    return true;
  }

  #open(hello: Hello): void {
    this.#state = "open";
    this.#frames.maxBytes = this.#limits.frameBytes;
    this.#deps.opened(hello);
    if (this.outbox.size > 0) this.#flushSoon();
  }

  #read(piece: Buffer): void {
    this.#heard = true;
    try {
      this.#frames.push(piece, this);
    } catch (error) {
      // Whatever the values in it made our own code throw; what it says may quote them.
      this.fail(isLimpetError(error, "PROTOCOL") ? error : broken("it sent bytes that are not a value"));
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
      // Nothing left to pass on: the bytes may be written over.
      if (socket.writableLength === 0) writer.reuse(frame);
      else this.#blocked = !more;
    }
    if (socket.isPaused() && !this.#isOverfull()) socket.resume();
  }

  #drained(): void {
    this.#heard = true;
    this.#blocked = false;
    this.flush();
  }

  #isOverfull(): boolean {
    return this.outbox.bytes + this.#socket.writableLength > this.#deps.unsentBytes;
  }

  #sign(sign: Sign): void {
    if (sign.waits) return;
    sign.waits = true;
    this.say(sign);
  }

  /** A peer that owes us something and gives no sign of life is gone, even if nobody told us. */
  #check(): void {
    if (this.#heard) {
      this.#heard = false;
      this.#pinged = false;
      this.#quietChecks = 0;
      this.#owingChecks = 0;
      return;
    }
    if (this.#state !== "open") return;
    const { silentChecks, idleChecks } = this.#limits;
    const owes = this.#deps.underWay > 0 || this.#blocked || this.#pinged;
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

/** No closure for each flush. */
const flush = (connection: Connection): void => connection.flushed();

const hungUp = (why: string): LimpetError => new LimpetError("ANSWER_LOST", why);
