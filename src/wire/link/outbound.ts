// The calling side of one connection. It takes calls from the moment it is made: they wait while it connects, and
// whatever happens to it, each of them hears its one outcome.
// When it is leaving it takes no more calls, and hangs up as soon as all answers are in.
import { tooLarge } from "../../kernel/call-size.ts";
import { isLimpetError, LimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import { deserializeError } from "../../kernel/serialized-error.ts";
import type { Cancel, RemoteCall, RemoteCaller } from "../../ports/links.ts";
import type { Log } from "../../ports/log.ts";
import type { ClusterSecurity } from "../cluster-security.ts";
import { SentCalls } from "./call-numbers.ts";
import { type Connecting, openSocket } from "./connect.ts";
import { Connection, type LinkConnectionDeps } from "./connection.ts";
import type { Hello } from "./hello.ts";
import { type LinkLimits, messageLimit } from "./limits.ts";
import { broken, type MessageReader } from "./message-reader.ts";
import { KIND, type Primitive } from "./messages.ts";
import { CancelMessage, type Carrier, OutgoingCall, refuse } from "./outgoing-call.ts";
import { decodeText, encodeArguments, fits } from "./payloads.ts";

export interface OutboundSettings {
  readonly own: Hello;
  readonly security: ClusterSecurity;
  readonly log: Log;
  readonly limits: LinkLimits;
}

/** Whoever made it, and wants to know how it goes. */
export interface OutboundDeps {
  /** The other side has said something: connecting to it is worth it. */
  proven(): void;
  /** It takes no more calls. */
  leaving(outbound: Outbound): void;
  /** `isProven`: the other side had said more than hello. */
  ended(outbound: Outbound, reason: LimpetError, isProven: boolean): void;
}

export class Outbound implements LinkConnectionDeps, Carrier {
  readonly #address: string;
  readonly #settings: OutboundSettings;
  readonly #owner: OutboundDeps;
  readonly #connecting: Connecting;
  readonly #connection: Connection;
  readonly #sent = new SentCalls<OutgoingCall>();
  /** Calls that were not handed to the socket. */
  #waiting = 0;
  #isLeaving = false;
  #isProven = false;
  /** Answers are always read: who does not read them while it sends would block both sides. */
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
    this.#connection = new Connection(this.#connecting.socket, own, limits, this);
  }

  get underWay(): number {
    return this.#sent.size;
  }

  call(call: RemoteCall, caller: RemoteCaller): Cancel {
    const { own, limits, log } = this.#settings;
    const connection = this.#connection;
    const pending = this.#waiting + this.#sent.size;
    if (pending >= limits.calls || connection.outbox.bytes > limits.waitingBytes) {
      const why = `${pending} calls to ${this.#address} wait already, which is the most`;
      return refuse("unsent", caller, new LimpetError("LINK_FULL", why), log);
    }
    if (call.namespace !== own.namespace) {
      const why = `a call of namespace ${JSON.stringify(call.namespace)} cannot leave a host of another`;
      return refuse("unsent", caller, new LimpetError("PROTOCOL", why), log);
    }
    let args: readonly Primitive[] | string;
    try {
      args = this.#encode(call);
    } catch (error) {
      // Nobody else could send it either.
      return refuse("error", caller, argumentProblem(error), log);
    }
    const outgoing = new OutgoingCall(this, call, args, caller, connection.isReady ? 0 : performance.now());
    if (pending === 0) this.#connecting.socket.ref();
    this.#waiting++;
    connection.say(outgoing);
    return () => this.#cancel(outgoing);
  }

  /** Takes no more calls. Those that wait are sent, unless the other side asked to be sent nothing. */
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
    const why = `no connection to ${this.#address} was free while there was time`;
    queueMicrotask(() => {
      call.hear("unsent", new LimpetError("CALL_TIMEOUT", why));
      this.#settle();
    });
  }

  opened({ version }: Hello): void {
    this.log.debug("link.open", { address: this.#address, version });
  }

  message(kind: number, fields: number, reader: MessageReader): void {
    if (!this.#isProven) {
      this.#isProven = true;
      this.#owner.proven();
    }
    if (kind === KIND.bye && fields === 1) this.#told();
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
      call.hear("unsent", new LimpetError(code === "STOPPING" ? code : "UNREACHABLE", why, { cause: reason }));
    }
    for (const call of sent) {
      const why = `the connection to ${this.#address} broke before its answer: ${message}`;
      call.hear("lost", new LimpetError("ANSWER_LOST", why, { cause: reason }));
    }
  }

  #encode(call: RemoteCall): readonly Primitive[] | string {
    const args = encodeArguments(call.args);
    if (!fits(args, LIMITS.callBytes)) throw tooLarge("the arguments", "ARGUMENT_INVALID");
    const most = messageLimit(this.#settings.limits) - ENVELOPE * (1 + call.causes.length);
    if (!fits(args, most)) throw new LimpetError("ARGUMENT_INVALID", `the arguments are larger than ${most} bytes`);
    return args;
  }

  #cancel(call: OutgoingCall): void {
    const { state } = call;
    call.state = "over";
    if (state === "sent") {
      // Its number stays taken until the other side has had its last word.
      this.#connection.say(new CancelMessage(call.number));
    } else if (state === "waiting") {
      this.#waiting--;
      this.#connection.outbox.takeOut(call);
      this.#settle();
    }
  }

  /** One last word on a call. It is read to its end before the call is taken, so that one that is broken loses no call. */
  #answered(kind: number, fields: number, reader: MessageReader): void {
    if (fields !== ANSWER_FIELDS[kind] && !(kind === KIND.value && fields === 2))
      throw broken("an answer has a wrong shape");
    const number = reader.uint();
    const call = this.#sent.get(number);
    if (call === undefined) throw broken("it answered a call that was never made");
    switch (kind) {
      case KIND.value: {
        const result = fields === 2 ? undefined : reader.primitive();
        this.#sent.remove(number);
        call.hearValue(result);
        break;
      }
      case KIND.text: {
        const text = reader.text();
        const result = call.state === "over" ? undefined : decodeText(text);
        this.#sent.remove(number);
        call.hearValue(result);
        break;
      }
      case KIND.error: {
        const error = deserializeError(JSON.parse(reader.text()));
        if (error === undefined) throw broken("it sent an error that is none");
        this.#sent.remove(number);
        call.hear("error", error);
        break;
      }
      case KIND.notOwner: {
        const term = reader.number();
        const version = reader.number();
        const owner = reader.textOrNil();
        this.#sent.remove(number);
        call.hear("notOwner", { term, version, owner });
        break;
      }
      case KIND.givenUp:
        if (call.state !== "over") throw broken("it gave up a call that was not cancelled");
        this.#sent.remove(number);
        break;
      default:
        throw broken("an answer has a wrong shape");
    }
    if (this.#sent.size === 0) this.#settle();
  }

  /** The other side wants to stop. What was not sent may go elsewhere. */
  #told(): void {
    const waiting = this.#connection.outbox.takeAll();
    for (const item of waiting) if (!(item instanceof OutgoingCall)) this.#connection.say(item);
    this.#waiting = 0;
    this.leave();
    const why = `the host at ${this.#address} is stopping`;
    for (const item of waiting) {
      if (item instanceof OutgoingCall) item.hear("unsent", new LimpetError("STOPPING", why));
    }
  }

  /** With nothing under way the process need not stay for this connection, and one that leaves can go. */
  #settle(): void {
    if (this.#waiting + this.#sent.size > 0) return;
    this.#connecting.socket.unref();
    if (!this.#isLeaving) return;
    if (this.#connection.isOpen) this.#connection.end();
    else this.#connection.fail(new LimpetError("UNREACHABLE", "nobody needs the connection any more"));
  }
}

const ANSWER_FIELDS: Readonly<Record<number, number>> = {
  [KIND.value]: 3,
  [KIND.text]: 3,
  [KIND.error]: 3,
  [KIND.notOwner]: 5,
  [KIND.givenUp]: 2,
};

/** Names and numbers of a call, or of one of its causes, at their longest. */
const ENVELOPE = 2_048;

/** Something that looks like a value can throw while it is read. */
function argumentProblem(error: unknown): LimpetError {
  if (isLimpetError(error)) return error;
  return new LimpetError("ARGUMENT_INVALID", "an argument cannot be read", { cause: error });
}
