// One end of a connection of the virtual network, with the interfaces of its process and of the network.
import type { Actee } from "./timeline.ts";

/** A process, as the network sees it: it has a place, and may be asleep or ended. */
export interface Station extends Actee {
  readonly place: number;
  readonly isAwake: boolean;
  readonly hasEnded: boolean;
}

/** Reason for the end of a connection, as the notified end gets it. */
export type Ending = "closed" | "reset" | "refused" | "unreachable" | "silent" | "full";

export interface Receiver {
  message(message: unknown): void;
  /** Called once, last. Not called on the end that closed the connection. */
  ended(how: Ending): void;
}

/** Timeouts and limits of one kind of connection. */
export interface Patience {
  readonly connectMs: number;
  readonly tickMs: number;
  readonly silentTicks: number;
  /** Most messages in flight. */
  readonly queue: number;
}

/** Requests of an end to the network. */
export interface Carriage {
  /** Delivers in order on its connection, in the process of the receiver. */
  deliver(from: WorldEnd, message: unknown, arrive: () => void): void;
  forget(end: WorldEnd): void;
}

/** One end of a connection. */
export class WorldEnd {
  readonly station: Station;
  readonly toPlace: number;
  readonly patience: Patience;
  readonly #network: Carriage;
  receiver: Receiver | undefined;
  peer: WorldEnd | undefined;
  isOpen = true;
  isConnecting = true;
  isWatched = false;
  /** Its machine has no power, and does not answer. */
  isWithoutPower = false;
  /** Messages to the other end in order, and the number of arrived ones. */
  #onTheWay: (() => void)[] = [];
  #arrived = 0;
  /** Arrival time of the last message. */
  arrival = 0;
  /** Number of messages in flight to the other end. */
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

  /** The first message in flight. */
  take(): (() => void) | undefined {
    const first = this.#onTheWay[this.#arrived++];
    if (this.#arrived >= this.#onTheWay.length) {
      this.#onTheWay = [];
      this.#arrived = 0;
    }
    return first;
  }

  /** Sends messages that were written while the end connected. */
  flushEarly(): void {
    for (const message of this.#early.splice(0)) this.send(message);
  }

  /** Delivers messages that arrived before there was a reader. */
  readEarly(): void {
    for (const message of this.#unread.splice(0)) if (this.isOpen) this.receiver?.message(message);
  }

  /** Closes in order: earlier messages arrive before. */
  close(): void {
    if (!this.isOpen) return;
    this.#network.deliver(this, undefined, () => this.peer?.lose("closed"));
    this.drop();
  }

  /**
   * Resets at once. The other end is notified when the line permits. `how`: the reason for this end;
   * undefined if this end has ended.
   */
  reset(how: Ending | undefined): void {
    if (!this.isOpen) return;
    const { peer, arrival } = this;
    // The reset overtakes nothing, but messages that were not received yet are lost with it.
    if (peer !== undefined) {
      this.arrival = arrival;
      this.#network.deliver(this, undefined, () => peer.lose("reset"));
    }
    if (how === undefined) this.drop();
    else this.lose(how);
  }

  /** This end is gone and gets no further notification. */
  drop(): void {
    this.isOpen = false;
    this.#network.forget(this);
  }

  /** Notifies this end of the loss of its connection. */
  lose(how: Ending): void {
    if (!this.isOpen) return;
    this.drop();
    this.receiver?.ended(how);
  }
}
