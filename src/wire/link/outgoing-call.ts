// A call on its way to another host. It waits, is sent, and is over; its caller hears exactly one thing about it, or
// nothing when it has given up.
import type { LimpetError } from "../../kernel/errors.ts";
import type { RemoteCall, RemoteCaller, RemoteCause } from "../../ports/links.ts";
import type { Log } from "../../ports/log.ts";
import type { FrameWriter } from "./frame-writer.ts";
import { KIND, type Primitive } from "./messages.ts";
import type { Outgoing } from "./outbox.ts";
import { sizeOf } from "./payloads.ts";

/** The connection that carries it. */
export interface Carrier {
  readonly log: Log;
  /** A call is written now; returns its number. */
  sent(call: OutgoingCall): number;
  /** It waited until its time was over. */
  expired(call: OutgoingCall): void;
}

/** Names, numbers and what holds them. */
const ENVELOPE = 64;

export class OutgoingCall implements Outgoing {
  readonly #carrier: Carrier;
  readonly #call: RemoteCall;
  readonly #args: readonly Primitive[] | string;
  readonly #caller: RemoteCaller;
  /** When it began to wait for a connection; 0 when it goes at once. */
  readonly #since: number;
  readonly bytes: number;
  number = -1;
  /** `late`: its time ended while it waited, and its caller is about to hear of it. */
  state: "waiting" | "late" | "sent" | "over" = "waiting";

  constructor(
    carrier: Carrier,
    call: RemoteCall,
    args: readonly Primitive[] | string,
    caller: RemoteCaller,
    since: number,
  ) {
    this.#carrier = carrier;
    this.#call = call;
    this.#args = args;
    this.#caller = caller;
    this.#since = since;
    this.bytes = ENVELOPE + sizeOf(args);
  }

  get takenOut(): boolean {
    return this.state === "over";
  }

  write(writer: FrameWriter): void {
    const { type, id, method, timeoutMs, hops, passOn, causes } = this.#call;
    let left = timeoutMs;
    if (this.#since !== 0) {
      left -= performance.now() - this.#since;
      if (left <= 0) {
        this.state = "late";
        this.#carrier.expired(this);
        return;
      }
    }
    this.state = "sent";
    this.number = this.#carrier.sent(this);
    const isPlain = hops === 0 && !passOn && causes.length === 0;
    writer.message(isPlain ? 7 : 10, KIND.call);
    writer.uint(this.number);
    writer.text(type);
    writer.text(id);
    writer.text(method);
    writer.number(left > 0 ? Math.ceil(left) : 0);
    writeArguments(writer, this.#args);
    if (isPlain) return;
    writer.uint(hops);
    writer.flag(passOn);
    writeCauses(writer, causes);
  }

  hearValue(result: unknown): void {
    if (this.#isOver()) return;
    try {
      this.#caller.value(result);
    } catch (error) {
      this.#carrier.log.error("link.failed", { err: error });
    }
  }

  /** Everything else that can be said to its caller. */
  hear<How extends Outcome>(how: How, what: Parameters<RemoteCaller[How]>[0]): void {
    if (this.#isOver()) return;
    tell(this.#caller, how, what, this.#carrier.log);
  }

  /** True when it was over before; from now on it is. */
  #isOver(): boolean {
    const before = this.state;
    this.state = "over";
    return before === "over";
  }
}

type Outcome = Exclude<keyof RemoteCaller, "value">;

/** A caller must not throw; one that does breaks nothing but itself. */
function tell<How extends Outcome>(
  caller: RemoteCaller,
  how: How,
  what: Parameters<RemoteCaller[How]>[0],
  log: Log,
): void {
  try {
    (caller[how] as (what: unknown) => void)(what);
  } catch (error) {
    log.error("link.failed", { err: error });
  }
}

/** Refuses a call before there is anything to carry it. The caller hears it after `call` has returned. */
export function refuse(how: "unsent" | "error", caller: RemoteCaller, why: LimpetError, log: Log): () => void {
  let waits = true;
  queueMicrotask(() => {
    if (waits) tell(caller, how, why, log);
  });
  return () => {
    waits = false;
  };
}

/** Nobody waits for that call any more. */
export class CancelMessage implements Outgoing {
  readonly bytes = 8;
  readonly takenOut = false;
  readonly #number: number;

  constructor(number: number) {
    this.#number = number;
  }

  write(writer: FrameWriter): void {
    writer.message(2, KIND.cancel);
    writer.uint(this.#number);
  }
}

function writeArguments(writer: FrameWriter, args: readonly Primitive[] | string): void {
  if (typeof args === "string") {
    writer.text(args);
    return;
  }
  writer.list(args.length);
  for (const arg of args) writer.primitive(arg);
}

function writeCauses(writer: FrameWriter, causes: readonly RemoteCause[]): void {
  writer.list(causes.length * 5);
  for (const { host, turn, type, id, method } of causes) {
    writer.text(host);
    writer.number(turn);
    writer.text(type);
    writer.text(id);
    writer.text(method);
  }
}
