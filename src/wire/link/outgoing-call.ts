// A call to another host. It waits, is sent, and is over. Its caller gets exactly one outcome, or none when
// it has cancelled.
import type { LimpetError } from "../../kernel/errors.ts";
import type { RemoteCall, RemoteCaller, RemoteCause } from "../../ports/links.ts";
import type { Log } from "../../ports/log.ts";
import type { FrameWriter } from "./frame-writer.ts";
import { FRAME_KIND, type Primitive } from "./messages.ts";
import type { OutgoingFrame } from "./outbox.ts";
import { sizeOf } from "./payloads.ts";

/** The connection that carries the call. */
export interface Carrier {
  readonly log: Log;
  /** The call is written now; returns its number. */
  sent(call: OutgoingCall): number;
  /** The deadline passed while the call waited. */
  expired(call: OutgoingCall): void;
}

/** Approximate size of names, numbers and their framing. */
const ENVELOPE = 64;

export class OutgoingCall implements OutgoingFrame {
  readonly #carrier: Carrier;
  readonly #call: RemoteCall;
  readonly #args: readonly Primitive[] | string;
  readonly #caller: RemoteCaller;
  /** The time at which it began to wait for a connection; 0 when it is sent immediately. */
  readonly #since: number;
  readonly bytes: number;
  number = -1;
  /** `late`: its deadline passed while it waited, and its caller is about to be notified. */
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
    writer.message(isPlain ? 7 : 10, FRAME_KIND.call);
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

  resolve(result: unknown): void {
    if (this.#isOver()) return;
    try {
      this.#caller.value(result);
    } catch (error) {
      this.#carrier.log.error("link.failed", { err: error });
    }
  }

  /** Reports any other outcome to the caller. */
  settle<How extends Outcome>(how: How, what: Parameters<RemoteCaller[How]>[0]): void {
    if (this.#isOver()) return;
    notifyCaller(this.#caller, how, what, this.#carrier.log);
  }

  /** Returns whether the call was over before, and marks it as over. */
  #isOver(): boolean {
    const before = this.state;
    this.state = "over";
    return before === "over";
  }
}

type Outcome = Exclude<keyof RemoteCaller, "value">;

/** A caller must not throw; an exception affects no other call. */
function notifyCaller<How extends Outcome>(
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

/** Rejects a call before any connection carries it. The caller is notified after `call` has returned. */
export function refuseCall(how: "unsent" | "error", caller: RemoteCaller, why: LimpetError, log: Log): () => void {
  let waits = true;
  queueMicrotask(() => {
    if (waits) notifyCaller(caller, how, why, log);
  });
  return () => {
    waits = false;
  };
}

/** Notifies the peer that the caller no longer waits for the call. */
export class CancelMessage implements OutgoingFrame {
  readonly bytes = 8;
  readonly takenOut = false;
  readonly #number: number;

  constructor(number: number) {
    this.#number = number;
  }

  write(writer: FrameWriter): void {
    writer.message(2, FRAME_KIND.cancel);
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
