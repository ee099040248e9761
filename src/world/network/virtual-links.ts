// Calls between the hosts of a virtual world. Keeps the contract of ports/links.ts on connections of the
// virtual network, and behaves like the real link: one connection per pair, made on first use, a pause after
// a failed attempt, and a goodbye before a server closes. Arguments and results are encoded, so that no two
// hosts share an object.
import { backoffMs } from "../../kernel/backoff.ts";
import { LimpetError } from "../../kernel/errors.ts";
import { deserializeError } from "../../kernel/serialized-error.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { Cancel, Links, RemoteCall, RemoteCaller } from "../../ports/links.ts";
import { LINK_LIMITS } from "../../wire/link/limits.ts";
import { decodeText, encodeArguments } from "../../wire/link/payloads.ts";
import type { Travelling, VirtualLinkMessage } from "./link-messages.ts";
import type { End, Network, Patience, Station } from "./network.ts";

const PATIENCE: Patience = {
  connectMs: LINK_LIMITS.connectMs,
  tickMs: LINK_LIMITS.checkMs,
  // The first check still finds earlier messages; a silent peer with pending calls is given up at the check
  // after the last.
  silentTicks: LINK_LIMITS.silentChecks + 2,
  queue: LINK_LIMITS.calls,
};

interface Waiting {
  readonly call: Travelling;
  readonly caller: RemoteCaller;
  readonly since: number;
  number: number;
}

export class VirtualLinks implements Links {
  readonly #network: Network;
  readonly #station: Station;
  readonly #clock: Clock;
  readonly #links = new Map<string, Link>();
  #isClosed = false;

  constructor(network: Network, station: Station, clock: Clock) {
    this.#network = network;
    this.#station = station;
    this.#clock = clock;
  }

  call(address: string, call: RemoteCall, caller: RemoteCaller): Cancel {
    if (this.#isClosed) return refuse(() => caller.unsent(stopping()));
    let args: Travelling["args"];
    try {
      args = encodeArguments(call.args);
    } catch (error) {
      return refuse(() => caller.error(error));
    }
    let link = this.#links.get(address);
    if (link === undefined) {
      link = new Link(address, this.#network, this.#station, this.#clock, () => this.#links.delete(address));
      this.#links.set(address, link);
    }
    return link.call({ ...call, args }, caller);
  }

  retain(addresses: ReadonlySet<string>): void {
    for (const [address, link] of this.#links) if (!addresses.has(address)) link.letGo();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const link of this.#links.values()) link.close();
  }
}

const stopping = (): LimpetError => new LimpetError("STOPPING", "this host is stopping");

/** Notifies the caller after `call` has returned. */
function refuse(notify: () => void): Cancel {
  let waits = true;
  queueMicrotask(() => {
    if (waits) notify();
  });
  return () => {
    waits = false;
  };
}

/**
 * All connections to one address: at most one that takes calls, and others that wait for their last answers.
 */
class Link implements CarrierDeps {
  readonly #address: string;
  readonly #network: Network;
  readonly #station: Station;
  readonly #clock: Clock;
  readonly #onUnused: () => void;
  readonly #leaving = new Set<Carrier>();
  #current: Carrier | undefined;
  #failures = 0;
  #pausedUntil = 0;

  constructor(address: string, network: Network, station: Station, clock: Clock, onUnused: () => void) {
    this.#address = address;
    this.#network = network;
    this.#station = station;
    this.#clock = clock;
    this.#onUnused = onUnused;
  }

  call(call: Travelling, caller: RemoteCaller): Cancel {
    if (this.#current === undefined) {
      if (this.#failures > 0 && this.#clock.monotonic() < this.#pausedUntil) {
        return refuse(() => caller.unsent(unreachable(this.#address, "the last attempt failed just now")));
      }
      this.#current = new Carrier(this.#address, this.#network, this.#station, this.#clock, this);
    }
    return this.#current.call(call, caller);
  }

  letGo(): void {
    this.#failures = 0;
    this.#current?.leave();
    this.#forgetIfUnused();
  }

  close(): void {
    this.#failures = 0;
    this.#current?.close();
    for (const carrier of this.#leaving) carrier.close();
  }

  proven(): void {
    this.#failures = 0;
  }

  leaving(carrier: Carrier): void {
    if (this.#current === carrier) this.#current = undefined;
    this.#leaving.add(carrier);
  }

  ended(carrier: Carrier, isProven: boolean): void {
    if (this.#current === carrier) {
      this.#current = undefined;
      if (!isProven) {
        const { pauseMs, longestPauseMs } = LINK_LIMITS;
        this.#pausedUntil = this.#clock.monotonic() + backoffMs(this.#failures++, pauseMs, longestPauseMs);
      }
    }
    this.#leaving.delete(carrier);
    this.#forgetIfUnused();
  }

  /** The record of a failed address stays until it is unused. */
  #forgetIfUnused(): void {
    if (this.#current === undefined && this.#leaving.size === 0 && this.#failures === 0) this.#onUnused();
  }
}

interface CarrierDeps {
  /** The other side has sent a message. */
  proven(): void;
  /** The connection takes no more calls. */
  leaving(carrier: Carrier): void;
  ended(carrier: Carrier, isProven: boolean): void;
}

/** The calling side of one connection. */
class Carrier {
  readonly #address: string;
  readonly #clock: Clock;
  readonly #owner: CarrierDeps;
  readonly #end: End;
  /** Calls that wait until the other side has introduced itself. */
  readonly #waiting = new Set<Waiting>();
  readonly #sent = new Map<number, Waiting>();
  /** Cancelled calls; their numbers stay in use until the other side has answered. */
  readonly #cancelled = new Set<number>();
  readonly #patience: Timer;
  #lastNumber = 0;
  #isReady = false;
  #isProven = false;
  #isLeaving = false;
  #isOver = false;

  constructor(address: string, network: Network, station: Station, clock: Clock, owner: CarrierDeps) {
    this.#address = address;
    this.#clock = clock;
    this.#owner = owner;
    this.#end = network.connect(station, address, PATIENCE, {
      message: (message) => this.#received(message as VirtualLinkMessage),
      ended: (how) => this.#over(how, "UNREACHABLE"),
    });
    this.#patience = clock.after(LINK_LIMITS.helloMs, () => this.#end.reset("silent"));
  }

  call(call: Travelling, caller: RemoteCaller): Cancel {
    const pending = this.#waiting.size + this.#sent.size + this.#cancelled.size;
    if (pending >= LINK_LIMITS.calls) {
      const why = `${pending} calls to ${this.#address} wait already, which is the most`;
      return refuse(() => caller.unsent(new LimpetError("LINK_FULL", why)));
    }
    const waiting = { call, caller, since: this.#clock.monotonic(), number: 0 };
    if (this.#isReady) this.#send(waiting, call.timeoutMs);
    else this.#waiting.add(waiting);
    return () => this.#cancel(waiting);
  }

  #send(waiting: Waiting, timeoutMs: number): void {
    waiting.number = ++this.#lastNumber;
    this.#sent.set(waiting.number, waiting);
    const call = { ...waiting.call, timeoutMs };
    this.#end.send({ kind: "call", number: waiting.number, call } satisfies VirtualLinkMessage);
  }

  #cancel(waiting: Waiting): void {
    if (this.#waiting.delete(waiting)) {
      this.#leaveIfDone();
      return;
    }
    if (!this.#sent.delete(waiting.number)) return;
    this.#cancelled.add(waiting.number);
    this.#end.send({ kind: "cancel", number: waiting.number } satisfies VirtualLinkMessage);
  }

  #received(message: VirtualLinkMessage): void {
    if (message.kind === "hello") {
      this.#greeted();
      return;
    }
    if (!this.#isProven) {
      this.#isProven = true;
      this.#owner.proven();
    }
    if (message.kind === "bye") {
      this.leave();
      return;
    }
    if (message.kind === "call" || message.kind === "cancel") return;
    const waiting = this.#sent.get(message.number);
    this.#sent.delete(message.number);
    this.#cancelled.delete(message.number);
    if (waiting !== undefined) answerCaller(waiting.caller, message);
    this.#leaveIfDone();
  }

  /** Sends waiting calls now, each with the rest of its time. */
  #greeted(): void {
    this.#isReady = true;
    this.#patience.cancel();
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const one of waiting) {
      const left = one.call.timeoutMs - (this.#clock.monotonic() - one.since);
      if (left > 0) this.#send(one, Math.ceil(left));
      else one.caller.unsent(new LimpetError("CALL_TIMEOUT", `no connection to ${this.#address} while there was time`));
    }
    this.#leaveIfDone();
  }

  /** Takes no more calls; hangs up when all answers are in. */
  leave(): void {
    if (!this.#isLeaving) this.#owner.leaving(this);
    this.#isLeaving = true;
    this.#leaveIfDone();
  }

  #leaveIfDone(): void {
    if (!this.#isLeaving || this.#waiting.size + this.#sent.size + this.#cancelled.size > 0) return;
    this.#end.close();
    this.#over("it is not needed any more", "UNREACHABLE");
  }

  close(): void {
    this.#end.close();
    this.#over("this host is stopping", "STOPPING");
  }

  #over(why: string, code: "STOPPING" | "UNREACHABLE"): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#patience.cancel();
    const [waiting, sent] = [[...this.#waiting], [...this.#sent.values()]];
    this.#waiting.clear();
    this.#sent.clear();
    this.#owner.ended(this, this.#isProven || code === "STOPPING");
    for (const { call, caller, since } of waiting) {
      if (code === "STOPPING") caller.unsent(stopping());
      else if (this.#clock.monotonic() - since < call.timeoutMs) caller.unsent(unreachable(this.#address, why));
      else caller.unsent(new LimpetError("CALL_TIMEOUT", `no connection to ${this.#address} while there was time`));
    }
    for (const { caller } of sent)
      caller.lost(new LimpetError("ANSWER_LOST", `the connection to ${this.#address} broke: ${why}`));
  }
}

const unreachable = (address: string, why: string): LimpetError =>
  new LimpetError("UNREACHABLE", `${address} cannot be reached: ${why}`);

function answerCaller(
  caller: RemoteCaller,
  answer: Extract<VirtualLinkMessage, { kind: "value" | "error" | "notOwner" }>,
): void {
  if (answer.kind === "value") caller.value(answer.text === "" ? undefined : decodeText(answer.text));
  else if (answer.kind === "error") caller.error(deserializeError(JSON.parse(answer.text)));
  else caller.notOwner(answer.ownership);
}
