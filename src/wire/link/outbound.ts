// The calling side of one connection. It takes calls from the moment it is created; they wait while it
// connects. Each call gets exactly one outcome, even when the connection fails.
// A leaving connection takes no more calls and closes when all answers have arrived.
import { callTooLarge } from "../../kernel/call-size.ts";
import { isLimpetError, LimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import { deserializeError } from "../../kernel/serialized-error.ts";
import type { Cancel, RemoteCall, RemoteCaller } from "../../ports/links.ts";
import type { Log } from "../../ports/log.ts";
import type { ClusterSecurity } from "../cluster-security.ts";
import { SentCalls } from "./call-numbers.ts";
import { type Connecting, openSocket } from "./connect.ts";
import { LinkConnection, type LinkConnectionDeps } from "./connection.ts";
import type { LinkHello } from "./hello.ts";
import { type LinkLimits, messageLimit } from "./limits.ts";
import { broken, type MessageReader } from "./message-reader.ts";
import { FRAME_KIND, type Primitive } from "./messages.ts";
import { CancelMessage, type Carrier, OutgoingCall, refuseCall } from "./outgoing-call.ts";
import { decodeText, encodeArguments, fitsFrame } from "./payloads.ts";

export interface OutboundSettings {
  readonly own: LinkHello;
  readonly security: ClusterSecurity;
  readonly log: Log;
  readonly limits: LinkLimits;
}

/** The link that created the connection and follows its state. */
export interface OutboundDeps {
  /** The peer has answered, so the address is worth connecting to. */
  proven(): void;
  /** The connection takes no more calls. */
  leaving(outbound: Outbound): void;
  /** `isProven`: the peer had sent more than its hello. */
  ended(outbound: Outbound, reason: LimpetError, isProven: boolean): void;
}

export class Outbound implements LinkConnectionDeps, Carrier {
  readonly #address: string;
  readonly #settings: OutboundSettings;
  readonly #owner: OutboundDeps;
  readonly #connecting: Connecting;
  readonly #connection: LinkConnection;
  readonly #sent = new SentCalls<OutgoingCall>();
  /** Calls that were not handed to the socket. */
  #waiting = 0;
  #isLeaving = false;
  #isProven = false;
  /** Answers are always read. A side that stops reading while it sends would block both sides. */
  readonly unsentBytes = Number.POSITIVE_INFINITY;
  readonly log: Log;

  constructor(
    address: string,
    at: { readonly host: string; readonly port: number },
    settings: OutboundSettings,
    owner: OutboundDeps,
  ) {
    const { own, security, limits, log } = settings;
    this.#address = address;
    this.#settings = settings;
    this.#owner = owner;
    this.log = log;
    this.#connecting = openSocket(at, address, security, limits.connectMs, (failure) => {
      if (failure === undefined) this.#connection.start("calls");
      else this.#connection.fail(failure);
    });
    this.#connecting.socket.unref();
    this.#connection = new LinkConnection(this.#connecting.socket, own, limits, this);
  }

  get inProgress(): number {
    return this.#sent.size;
  }

  call(call: RemoteCall, caller: RemoteCaller): Cancel {
    const { own, limits, log } = this.#settings;
    const connection = this.#connection;
    const pending = this.#waiting + this.#sent.size;
    if (pending >= limits.calls || connection.outbox.bytes > limits.waitingBytes) {
      const why = `${pending} calls to ${this.#address} are waiting, which is the limit; retry later`;
      return refuseCall("unsent", caller, new LimpetError("LINK_FULL", why), log);
    }
    if (call.namespace !== own.namespace) {
      const why = `a host of another namespace cannot send a call of namespace ${JSON.stringify(call.namespace)}`;
      return refuseCall("unsent", caller, new LimpetError("PROTOCOL", why), log);
    }
    let args: readonly Primitive[] | string;
    try {
      args = this.#encode(call);
    } catch (error) {
      // No other connection could send this call either.
      return refuseCall("error", caller, argumentProblem(error), log);
    }
    const outgoing = new OutgoingCall(this, call, args, caller, connection.isReady ? 0 : performance.now());
    if (pending === 0) this.#connecting.socket.ref();
    this.#waiting++;
    connection.send(outgoing);
    return () => this.#cancel(outgoing);
  }

  /** Takes no more calls. Waiting calls are still sent, unless the peer asked for no more calls. */
  leave(): void {
    if (!this.#isLeaving) this.#owner.leaving(this);
    this.#isLeaving = true;
    this.#settle();
  }

  close(reason: LimpetError): void {
    this.#connection.fail(reason);
  }

  sent(call: OutgoingCall): number {
    this.#waiting--;
    return this.#sent.add(call);
  }

  expired(call: OutgoingCall): void {
    this.#waiting--;
    const why = `the call timed out while it waited for a connection to ${this.#address}`;
    queueMicrotask(() => {
      call.settle("unsent", new LimpetError("CALL_TIMEOUT", why));
      this.#settle();
    });
  }

  opened({ version }: LinkHello): void {
    this.log.debug("link.open", { address: this.#address, version });
  }

  message(kind: number, fields: number, reader: MessageReader): void {
    if (!this.#isProven) {
      this.#isProven = true;
      this.#owner.proven();
    }
    if (kind === FRAME_KIND.bye && fields === 1) this.#peerStopping();
    else this.#answered(kind, fields, reader);
  }

  wasRead(): void {}

  closed(reason: LimpetError): void {
    this.#connecting.stop();
    const { code, message } = reason;
    const waiting = this.#connection.outbox.takeAll();
    const sent = this.#sent.takeAll();
    this.#waiting = 0;
    this.#owner.ended(this, reason, this.#isProven);
    const isNamed = code === "UNREACHABLE" || code === "UNAUTHENTICATED" || code === "STOPPING";
    for (const call of waiting) {
      if (!(call instanceof OutgoingCall)) continue;
      const why = isNamed ? message : `${this.#address} cannot be reached: ${message}`;
      call.settle("unsent", new LimpetError(code === "STOPPING" ? code : "UNREACHABLE", why, { cause: reason }));
    }
    for (const call of sent) {
      const why = `the connection to ${this.#address} was lost before the answer: ${message}`;
      call.settle("lost", new LimpetError("ANSWER_LOST", why, { cause: reason }));
    }
  }

  #encode(call: RemoteCall): readonly Primitive[] | string {
    const args = encodeArguments(call.args);
    if (!fitsFrame(args, LIMITS.callBytes)) throw callTooLarge("the arguments", "ARGUMENT_INVALID");
    const most = messageLimit(this.#settings.limits) - ENVELOPE * (1 + call.causes.length);
    if (!fitsFrame(args, most))
      throw new LimpetError("ARGUMENT_INVALID", `the arguments are larger than ${most} bytes`);
    return args;
  }

  #cancel(call: OutgoingCall): void {
    const { state } = call;
    call.state = "over";
    if (state === "sent") {
      // The number stays in use until the final answer of the peer.
      this.#connection.send(new CancelMessage(call.number));
    } else if (state === "waiting") {
      this.#waiting--;
      this.#connection.outbox.takeOut(call);
      this.#settle();
    }
  }

  /**
   * Reads one final answer. It is read to its end before the call is removed, so a broken answer loses no
   * call.
   */
  #answered(kind: number, fields: number, reader: MessageReader): void {
    if (fields !== ANSWER_FIELDS[kind] && !(kind === FRAME_KIND.value && fields === 2))
      throw broken("an answer has an unknown kind or the wrong number of fields");
    const number = reader.uint();
    const call = this.#sent.get(number);
    if (call === undefined) throw broken("it answered an unknown call");
    switch (kind) {
      case FRAME_KIND.value: {
        const result = fields === 2 ? undefined : reader.primitive();
        this.#sent.remove(number);
        call.resolve(result);
        break;
      }
      case FRAME_KIND.text: {
        const text = reader.text();
        const result = call.state === "over" ? undefined : decodeText(text);
        this.#sent.remove(number);
        call.resolve(result);
        break;
      }
      case FRAME_KIND.error: {
        const error = deserializeError(JSON.parse(reader.text()));
        if (error === undefined) throw broken("it sent an invalid error");
        this.#sent.remove(number);
        call.settle("error", error);
        break;
      }
      case FRAME_KIND.notOwner: {
        const term = reader.number();
        const version = reader.number();
        const owner = reader.textOrNil();
        this.#sent.remove(number);
        call.settle("notOwner", { term, version, owner });
        break;
      }
      case FRAME_KIND.givenUp:
        if (call.state !== "over") throw broken("it ended a call as cancelled that was not cancelled");
        this.#sent.remove(number);
        break;
      default:
        throw broken("an answer has an unknown kind or the wrong number of fields");
    }
    if (this.#sent.size === 0) this.#settle();
  }

  /** The peer is stopping. Unsent calls may go to another host. */
  #peerStopping(): void {
    const waiting = this.#connection.outbox.takeAll();
    for (const item of waiting) if (!(item instanceof OutgoingCall)) this.#connection.send(item);
    this.#waiting = 0;
    this.leave();
    const why = `the host at ${this.#address} is stopping`;
    for (const item of waiting) {
      if (item instanceof OutgoingCall) item.settle("unsent", new LimpetError("STOPPING", why));
    }
  }

  /**
   * Without calls in progress the connection does not keep the process alive, and a leaving connection
   * closes.
   */
  #settle(): void {
    if (this.#waiting + this.#sent.size > 0) return;
    this.#connecting.socket.unref();
    if (!this.#isLeaving) return;
    if (this.#connection.isOpen) this.#connection.end();
    else this.#connection.fail(new LimpetError("UNREACHABLE", "the connection is no longer needed"));
  }
}

const ANSWER_FIELDS: Readonly<Record<number, number>> = {
  [FRAME_KIND.value]: 3,
  [FRAME_KIND.text]: 3,
  [FRAME_KIND.error]: 3,
  [FRAME_KIND.notOwner]: 5,
  [FRAME_KIND.givenUp]: 2,
};

/** The largest size of the names and numbers of a call, or of one of its causes. */
const ENVELOPE = 2_048;

/** A hostile object can throw while it is read. */
function argumentProblem(error: unknown): LimpetError {
  if (isLimpetError(error)) return error;
  return new LimpetError("ARGUMENT_INVALID", "an argument cannot be read", { cause: error });
}
