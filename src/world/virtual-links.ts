// Calls between the hosts of a virtual world. It keeps the promise of ports/links.ts on connections of the virtual network, with
// the manners of the real link: one connection per pair that is made when it is first needed, a pause after one that could not be
// made, and a goodbye before a door closes. Arguments and results are encoded, so that no two hosts share an object.
import { LimpetError } from "../kernel/errors.ts";
import type { Clock } from "../ports/clock.ts";
import type { Cancel, LinkService, Links, Ownership, RemoteCall, RemoteCaller } from "../ports/links.ts";
import { LINK_LIMITS } from "../wire/link/limits.ts";
import { decodeArguments, decodeText, encodeArguments, encodeResult } from "../wire/link/payloads.ts";
import { rebuildTold, tellError } from "../wire/told-error.ts";
import type { End, Ending, Network, Patience, Station } from "./network.ts";

const PATIENCE: Patience = {
  connectMs: LINK_LIMITS.connectMs,
  tickMs: LINK_LIMITS.checkMs,
  silentTicks: LINK_LIMITS.silentChecks,
  queue: LINK_LIMITS.calls,
};

type Said =
  | { readonly kind: "call"; readonly number: number; readonly call: Travelling }
  | { readonly kind: "cancel"; readonly number: number }
  | { readonly kind: "value"; readonly number: number; readonly text: string }
  | { readonly kind: "error"; readonly number: number; readonly text: string }
  | { readonly kind: "notOwner"; readonly number: number; readonly belief: Ownership }
  | { readonly kind: "bye" };

type Travelling = Omit<RemoteCall, "args"> & { readonly args: ReturnType<typeof encodeArguments> };

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
      link = new Link(address, this.#network, this.#station, this.#clock);
      this.#links.set(address, link);
    }
    return link.call({ ...call, args }, caller);
  }

  retain(addresses: ReadonlySet<string>): void {
    for (const [address, link] of this.#links) {
      if (addresses.has(address)) continue;
      link.letGo();
      this.#links.delete(address);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const link of this.#links.values()) link.close();
  }
}

const stopping = (): LimpetError => new LimpetError("STOPPING", "this host is stopping");

/** The caller hears it after `call` has returned. */
function refuse(tell: () => void): Cancel {
  let waits = true;
  queueMicrotask(() => {
    if (waits) tell();
  });
  return () => {
    waits = false;
  };
}

/** To one address. Connections that were let go carry their last answers and are not known here any more. */
class Link {
  readonly #address: string;
  readonly #network: Network;
  readonly #station: Station;
  readonly #clock: Clock;
  #current: Carrier | undefined;
  #failures = 0;
  #pausedUntil = 0;

  constructor(address: string, network: Network, station: Station, clock: Clock) {
    this.#address = address;
    this.#network = network;
    this.#station = station;
    this.#clock = clock;
  }

  call(call: Travelling, caller: RemoteCaller): Cancel {
    if (this.#current === undefined) {
      if (this.#failures > 0 && this.#clock.monotonic() < this.#pausedUntil) {
        return refuse(() => caller.unsent(unreachable(this.#address, "the last attempt failed just now")));
      }
      this.#current = this.#connect();
    }
    return this.#current.call(call, caller);
  }

  #connect(): Carrier {
    const carrier: Carrier = new Carrier(this.#address, this.#network, this.#station, this.#clock, {
      proven: () => {
        this.#failures = 0;
      },
      over: (isProven) => {
        if (this.#current !== carrier) return;
        this.#current = undefined;
        if (isProven) return;
        const pause = LINK_LIMITS.pauseMs * 2 ** this.#failures++;
        this.#pausedUntil = this.#clock.monotonic() + Math.min(pause, LINK_LIMITS.longestPauseMs);
      },
    });
    return carrier;
  }

  letGo(): void {
    this.#failures = 0;
    this.#current?.leave();
    this.#current = undefined;
  }

  close(): void {
    this.#current?.close();
  }
}

interface CarrierOwner {
  /** The other side has said something. */
  proven(): void;
  /** It takes no more calls. */
  over(isProven: boolean): void;
}

/** The calling side of one connection. */
class Carrier {
  readonly #address: string;
  readonly #clock: Clock;
  readonly #owner: CarrierOwner;
  readonly #end: End;
  readonly #sent = new Map<number, Waiting>();
  /** Given up here; their numbers are taken until the other side has answered. */
  readonly #cancelled = new Set<number>();
  #lastNumber = 0;
  #isProven = false;
  #isLeaving = false;

  constructor(address: string, network: Network, station: Station, clock: Clock, owner: CarrierOwner) {
    this.#address = address;
    this.#clock = clock;
    this.#owner = owner;
    this.#end = network.connect(station, address, PATIENCE, {
      message: (message) => this.#heard(message as Said),
      ended: (how) => this.#ended(how),
    });
  }

  call(call: Travelling, caller: RemoteCaller): Cancel {
    const waiting = { call, caller, since: this.#clock.monotonic(), number: ++this.#lastNumber };
    this.#sent.set(waiting.number, waiting);
    this.#end.send({ kind: "call", number: waiting.number, call } satisfies Said);
    return () => this.#cancel(waiting);
  }

  #cancel(waiting: Waiting): void {
    if (!this.#sent.delete(waiting.number)) return;
    this.#cancelled.add(waiting.number);
    this.#end.send({ kind: "cancel", number: waiting.number } satisfies Said);
  }

  #heard(said: Said): void {
    if (!this.#isProven) {
      this.#isProven = true;
      this.#owner.proven();
    }
    if (said.kind === "bye") {
      this.leave();
      return;
    }
    if (said.kind === "call" || said.kind === "cancel") return;
    const waiting = this.#sent.get(said.number);
    this.#sent.delete(said.number);
    this.#cancelled.delete(said.number);
    if (waiting !== undefined) tell(waiting.caller, said);
    this.#leaveIfDone();
  }

  /** Takes no more calls; hangs up when all answers are in. */
  leave(): void {
    if (!this.#isLeaving) this.#owner.over(true);
    this.#isLeaving = true;
    this.#leaveIfDone();
  }

  #leaveIfDone(): void {
    if (this.#isLeaving && this.#sent.size === 0 && this.#cancelled.size === 0) this.#end.close();
  }

  close(): void {
    this.#end.close();
    this.#fail("this host is stopping", "STOPPING");
  }

  #ended(how: Ending): void {
    if (!this.#isLeaving) this.#owner.over(this.#isProven);
    this.#fail(how, "UNREACHABLE");
  }

  #fail(why: string, code: "STOPPING" | "UNREACHABLE"): void {
    const wasConnected = !this.#end.isConnecting;
    const calls = [...this.#sent.values()];
    this.#sent.clear();
    for (const { call, caller, since } of calls) {
      if (!wasConnected && this.#clock.monotonic() - since >= call.timeoutMs) {
        caller.unsent(new LimpetError("CALL_TIMEOUT", `no connection to ${this.#address} while there was time`));
      } else if (!wasConnected) caller.unsent(code === "STOPPING" ? stopping() : unreachable(this.#address, why));
      else caller.lost(new LimpetError("ANSWER_LOST", `the connection to ${this.#address} broke: ${why}`));
    }
  }
}

const unreachable = (address: string, why: string): LimpetError =>
  new LimpetError("UNREACHABLE", `${address} cannot be reached: ${why}`);

function tell(caller: RemoteCaller, said: Extract<Said, { kind: "value" | "error" | "notOwner" }>): void {
  if (said.kind === "value") caller.value(said.text === "" ? undefined : decodeText(said.text));
  else if (said.kind === "error") caller.error(rebuildTold(JSON.parse(said.text)));
  else caller.notOwner(said.belief);
}

/** The door of a host for the others. */
export class VirtualLinkDoor {
  readonly address: string;
  readonly #service: LinkService;
  readonly #clock: Clock;
  readonly #listening: { close(): void };
  readonly #served = new Set<Served>();

  constructor(address: string, service: LinkService, network: Network, station: Station, clock: Clock) {
    this.address = address;
    this.#service = service;
    this.#clock = clock;
    this.#listening = network.listen(address, station, (end) => {
      const served = new Served(end, this.#service, () => this.#served.delete(served));
      this.#served.add(served);
      return served;
    });
  }

  /** Asks the callers to go, lets what is under way finish, for a while, and then closes every connection. */
  async close(): Promise<void> {
    this.#listening.close();
    const idle = Promise.all([...this.#served].map((served) => served.leave()));
    let timer: ReturnType<Clock["after"]> | undefined;
    const late = new Promise<void>((resolve) => {
      timer = this.#clock.after(LINK_LIMITS.closeMs, resolve);
    });
    await Promise.race([idle, late]);
    timer?.cancel();
    for (const served of this.#served) served.close();
  }
}

/** The serving side of one connection. */
class Served {
  readonly #end: End;
  readonly #service: LinkService;
  readonly #onEnd: () => void;
  readonly #cancels = new Map<number, Cancel | undefined>();
  #onIdle: (() => void) | undefined;

  constructor(end: End, service: LinkService, onEnd: () => void) {
    this.#end = end;
    this.#service = service;
    this.#onEnd = onEnd;
  }

  message(message: unknown): void {
    const said = message as Said;
    if (said.kind === "call") this.#serve(said.number, said.call);
    else if (said.kind === "cancel" && this.#cancels.has(said.number)) {
      const cancel = this.#cancels.get(said.number);
      this.#answer({ kind: "value", number: said.number, text: "" });
      cancel?.();
    }
  }

  #serve(number: number, { args, ...call }: Travelling): void {
    this.#cancels.set(number, undefined);
    const cancel = this.#service.serve(
      { ...call, args: decodeArguments(args as never) },
      {
        value: (result) => this.#answer({ kind: "value", number, text: "" }, result),
        error: (error) => this.#answer({ kind: "error", number, text: JSON.stringify(tellError(error)) }),
        notOwner: (belief) => this.#answer({ kind: "notOwner", number, belief }),
      },
    );
    if (this.#cancels.has(number)) this.#cancels.set(number, cancel);
  }

  /** The first answer counts. */
  #answer(said: Extract<Said, { readonly number: number }>, result?: unknown): void {
    if (!this.#cancels.has(said.number)) return;
    let answer = said;
    if (said.kind === "value" && result !== undefined) {
      try {
        answer = { ...said, text: encodeResult(result) };
      } catch (error) {
        answer = { kind: "error", number: said.number, text: JSON.stringify(tellError(error)) };
      }
    }
    this.#cancels.delete(said.number);
    this.#end.send(answer);
    if (this.#cancels.size === 0) this.#onIdle?.();
  }

  ended(): void {
    const cancels = [...this.#cancels.values()];
    this.#cancels.clear();
    this.#onEnd();
    this.#onIdle?.();
    for (const cancel of cancels) cancel?.();
  }

  /** Resolves when its caller has gone, or nothing is under way. */
  leave(): Promise<void> {
    this.#end.send({ kind: "bye" } satisfies Said);
    if (this.#cancels.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onIdle = resolve;
    });
  }

  close(): void {
    this.#end.close();
    this.ended();
  }
}
