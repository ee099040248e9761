// One end of a connection of the virtual network, and what it needs to know of whoever holds it and of the way to the other end.
import type { Actee } from "./timeline.ts";

/** A process, as the network knows it: it lives at a place, and may be asleep or gone. */
export interface Station extends Actee {
  readonly place: number;
  readonly isAwake: boolean;
  readonly hasEnded: boolean;
}

/** How a connection ended, for the end that hears of it. */
export type Ending = "closed" | "reset" | "refused" | "unreachable" | "silent" | "full";

export interface Receiver {
  message(message: unknown): void;
  /** Comes once, last. Not to the end that closed it. */
  ended(how: Ending): void;
}

/** How long the ends of a kind of connection wait, and for how much. */
export interface Patience {
  readonly connectMs: number;
  readonly tickMs: number;
  readonly silentTicks: number;
  /** Messages that may be on their way. */
  readonly queue: number;
}

/** What an end asks of the network. */
export interface Carriage {
  /** In order on its connection; belongs to whoever receives it. */
  deliver(from: End, message: unknown, arrive: () => void): void;
  forget(end: End): void;
}

/** One end of a connection. */
export class End {
  readonly station: Station;
  readonly toPlace: number;
  readonly patience: Patience;
  readonly #network: Carriage;
  receiver: Receiver | undefined;
  peer: End | undefined;
  isOpen = true;
  isConnecting = true;
  isWatched = false;
  /** Its machine is gone, and answers nobody. */
  isWithoutPower = false;
  /** On the way to the other end, in order, and how many of them have arrived. */
  #onTheWay: (() => void)[] = [];
  #arrived = 0;
  /** When what was sent last arrives. */
  arrival = 0;
  /** On its way to the other end. */
  #underWay = 0;
  readonly #early: unknown[] = [];
  readonly #unread: unknown[] = [];

  constructor(network: Carriage, station: Station, toPlace: number, patience: Patience) {
    this.#network = network;
    this.station = station;
    this.toPlace = toPlace;
    this.patience = patience;
  }

  send(message: unknown): void {
    if (!this.isOpen) return;
    if (this.isConnecting) {
      this.#early.push(message);
      return;
    }
    if (this.#underWay >= this.patience.queue) {
      this.reset("full");
      return;
    }
    this.#underWay++;
    this.#network.deliver(this, message, () => {
      this.#underWay--;
      const { peer } = this;
      if (!peer?.isOpen) return;
      if (peer.receiver === undefined) peer.#unread.push(message);
      else peer.receiver.message(message);
    });
  }

  put(arrive: () => void): void {
    this.#onTheWay.push(arrive);
  }

  /** The first of what is on its way. */
  take(): (() => void) | undefined {
    const first = this.#onTheWay[this.#arrived++];
    if (this.#arrived >= this.#onTheWay.length) {
      this.#onTheWay = [];
      this.#arrived = 0;
    }
    return first;
  }

  /** What was said while it connected. */
  flushEarly(): void {
    for (const message of this.#early.splice(0)) this.send(message);
  }

  /** What came before anybody was there to read it. */
  readEarly(): void {
    for (const message of this.#unread.splice(0)) if (this.isOpen) this.receiver?.message(message);
  }

  /** Orderly: what was sent before arrives before. */
  close(): void {
    if (!this.isOpen) return;
    this.#network.deliver(this, undefined, () => this.peer?.lose("closed"));
    this.drop();
  }

  /** At once. The other end hears of it when the line lets it. `how`: what this end hears; undefined: it is not there to hear. */
  reset(how: Ending | undefined): void {
    if (!this.isOpen) return;
    const { peer, arrival } = this;
    // It overtakes nothing but what was not received yet is lost with it.
    if (peer !== undefined) {
      this.arrival = arrival;
      this.#network.deliver(this, undefined, () => peer.lose("reset"));
    }
    if (how === undefined) this.drop();
    else this.lose(how);
  }

  /** This end is gone and hears nothing more. */
  drop(): void {
    this.isOpen = false;
    this.#network.forget(this);
  }

  /** This end hears that it is gone. */
  lose(how: Ending): void {
    if (!this.isOpen) return;
    this.drop();
    this.receiver?.ended(how);
  }
}
