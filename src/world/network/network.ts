// The network of a virtual world: connections between places, as reliable as TCP and no more. Messages on a
// connection arrive in order or not at all. They are late when packets are lost, wait while the line is cut,
// and are lost when the connection breaks. A cut line causes no notification: each end detects it by silence,
// as real ends do.
import type { Prng } from "../../kernel/prng.ts";
import { type Carriage, type Patience, type Receiver, type Station, WorldEnd } from "../end.ts";
import { KIND, type Timeline } from "../timeline.ts";

export { type Ending, type Patience, type Receiver, type Station, WorldEnd as End } from "../end.ts";

/** One direction between two places. */
export interface Line {
  isOpen: boolean;
  /** Mean of the delay beyond the usual latency. */
  delayMs: number;
  /** Share of packets that are lost and have to be sent again. */
  loss: number;
}

const USUAL: Line = { isOpen: true, delayMs: 0, loss: 0 };
/** Delay before a lost packet is sent again; it doubles with every further loss. */
const RESEND_MS = 200;
const RESENDS = 6;
/**
 * Longest delay on an open line: a longer one would hold up all later messages, also after the line has
 * recovered.
 */
const LONGEST_MS = 20_000;

export interface NetworkListening {
  close(): void;
}

interface Listener {
  readonly station: Station;
  readonly accept: (end: WorldEnd) => Receiver;
}

/** Notifications for observers of the network. */
export interface NetworkWatcher {
  sent(from: Station, to: number, message: unknown): void;
}

export class Network implements Carriage {
  readonly timeline: Timeline;
  readonly chance: Prng;
  /** Least latency of a message, and the mean of the rest. */
  latency = { leastMs: 0.2, moreMs: 0.3 };
  readonly watchers: NetworkWatcher[] = [];
  readonly #listeners = new Map<string, Listener>();
  readonly #lines = new Map<number, Line>();
  /** Messages that wait for a line to open, by line. */
  readonly #waiting = new Map<number, (() => void)[]>();
  readonly #ends = new Map<Station, Set<WorldEnd>>();

  constructor(timeline: Timeline, chance: Prng) {
    this.timeline = timeline;
    this.chance = chance;
  }

  // ——— Connections.

  listen(address: string, station: Station, accept: (end: WorldEnd) => Receiver): NetworkListening {
    const listener = { station, accept };
    this.#listeners.set(address, listener);
    return {
      close: () => {
        if (this.#listeners.get(address) === listener) this.#listeners.delete(address);
      },
    };
  }

  isTaken(address: string): boolean {
    return this.#listeners.has(address);
  }

  connect(station: Station, address: string, patience: Patience, receiver: Receiver): WorldEnd {
    const near = new WorldEnd(this, station, placeOf(address), patience);
    near.receiver = receiver;
    if (station.hasEnded) {
      // Actions of a process at the moment of its end have no effect.
      near.isOpen = false;
      return near;
    }
    this.#keep(near);
    const tooLate = this.timeline.plan(this.timeline.now + patience.connectMs, KIND.network, station, () => {
      if (near.isConnecting) near.lose("unreachable");
    });
    this.#carry(near, () => {
      // An end that has given up does not continue the handshake.
      if (!near.isOpen) return;
      const listener = this.#listeners.get(address);
      if (listener === undefined) {
        this.#carryBack(near, () => {
          tooLate.cancel();
          this.timeline.plan(this.timeline.now, KIND.network, station, () => near.lose("refused"));
        });
        return;
      }
      const far = new WorldEnd(this, listener.station, station.place, patience);
      far.peer = near;
      far.isConnecting = false;
      // A connection to a hanging process succeeds: its kernel answers.
      this.#keep(far);
      this.timeline.plan(this.timeline.now, KIND.network, listener.station, () => {
        if (far.isOpen) far.receiver = listener.accept(far);
        far.readEarly();
      });
      this.#watchSilence(far);
      this.#carryBack(
        near,
        () => {
          tooLate.cancel();
          if (near.isOpen) {
            near.peer = far;
            near.isConnecting = false;
            near.flushEarly();
            this.#watchSilence(near);
          } else if (!near.isWithoutPower) {
            const { timeline } = this;
            this.#carry(near, () => timeline.plan(timeline.now, KIND.network, far.station, () => far.lose("reset")));
          }
        },
        far,
      );
    });
    return near;
  }

  #keep(end: WorldEnd): void {
    const ends = this.#ends.get(end.station) ?? new Set();
    this.#ends.set(end.station, ends.add(end));
  }

  forget(end: WorldEnd): void {
    const ends = this.#ends.get(end.station);
    ends?.delete(end);
    if (ends?.size === 0) this.#ends.delete(end.station);
  }

  endsOf(station: Station): readonly WorldEnd[] {
    return [...(this.#ends.get(station) ?? [])];
  }

  /** Connections that are open. */
  get open(): number {
    let ends = 0;
    for (const each of this.#ends.values()) ends += each.size;
    return ends;
  }

  // ——— Messages in flight.

  /** Delivers in order on its connection, in the process of the receiver. */
  deliver(from: WorldEnd, message: unknown, arrive: () => void): void {
    const to = from.peer;
    if (to === undefined) return;
    if (message !== undefined)
      for (const watcher of this.watchers) watcher.sent(from.station, to.station.place, message);
    from.put(arrive);
    this.#send(from, to);
  }

  /**
   * Messages arrive in the order in which they were sent, whatever their latency. Messages on a line when it
   * is cut have to be sent again.
   */
  #send(from: WorldEnd, to: WorldEnd): void {
    const [here, there] = [from.station.place, to.station.place];
    this.#travel(here, there, () => {
      const at = Math.max(from.arrival, this.timeline.now + this.#takes(here, there));
      from.arrival = at;
      this.timeline.plan(at, KIND.message, to.station, () => {
        // Messages for a sleeping process have been at its machine all the time.
        if (this.timeline.now > at || this.line(here, there).isOpen) from.take()?.();
        else this.#send(from, to);
      });
    });
  }

  /** Packets of a handshake between the kernels. */
  #carry(near: WorldEnd, arrive: () => void): void {
    const { place } = near.station;
    this.#travel(place, near.toPlace, () =>
      this.timeline.plan(this.timeline.now + this.#takes(place, near.toPlace), KIND.network, undefined, arrive),
    );
  }

  /** `far`: its messages arrive after this. */
  #carryBack(near: WorldEnd, arrive: () => void, far?: WorldEnd): void {
    const { place } = near.station;
    this.#travel(near.toPlace, place, () => {
      const at = this.timeline.now + this.#takes(near.toPlace, place);
      if (far !== undefined) far.arrival = Math.max(far.arrival, at);
      this.timeline.plan(at, KIND.network, undefined, arrive);
    });
  }

  #travel(from: number, to: number, go: () => void): void {
    if (this.line(from, to).isOpen) go();
    else {
      const key = keyOf(from, to);
      const waiting = this.#waiting.get(key) ?? [];
      this.#waiting.set(key, waiting);
      waiting.push(go);
    }
  }

  #takes(from: number, to: number): number {
    const { delayMs, loss } = this.line(from, to);
    let ms = this.latency.leastMs + Math.min(this.chance.exponential(this.latency.moreMs + delayMs), LONGEST_MS);
    for (let again = 0; loss > 0 && again < RESENDS && this.chance.chance(loss); again++) ms += RESEND_MS * 2 ** again;
    return ms;
  }

  // ——— Lines.

  line(from: number, to: number): Readonly<Line> {
    return this.#lines.get(keyOf(from, to)) ?? USUAL;
  }

  /** Changes one direction. A line that opens releases waiting messages in order. */
  change(from: number, to: number, change: Partial<Line>): void {
    const key = keyOf(from, to);
    const before = this.line(from, to);
    this.#lines.set(key, { ...before, ...change });
    if (before.isOpen && change.isOpen === false)
      this.#noticeSilence((end) => end.toPlace === from && end.station.place === to);
    if (!before.isOpen && change.isOpen === true) {
      const waiting = this.#waiting.get(key) ?? [];
      this.#waiting.delete(key);
      for (const go of waiting) go();
    }
  }

  /** Resets every line. Lines open one after another in random order. */
  heal(): void {
    for (const key of this.chance.shuffle([...this.#lines.keys()])) {
      this.change(Math.floor(key / PLACES), key % PLACES, USUAL);
    }
    this.#lines.clear();
  }

  // ——— Silence.

  /** The process hangs, or its machine lost its power: connected ends get no further messages. */
  silenced(station: Station): void {
    this.#noticeSilence((end) => end.peer?.station === station);
  }

  #noticeSilence(isAffected: (end: WorldEnd) => boolean): void {
    for (const ends of [...this.#ends.values()])
      for (const end of [...ends]) if (isAffected(end)) this.#watchSilence(end);
  }

  #isSilent(end: WorldEnd): boolean {
    const { peer } = end;
    if (peer === undefined) return false;
    return !this.line(peer.station.place, end.station.place).isOpen || !peer.station.isAwake;
  }

  /** Checks as often as the real ends, and only while there is something to detect. */
  #watchSilence(end: WorldEnd): void {
    if (end.isWatched || !this.#isSilent(end)) return;
    end.isWatched = true;
    const { tickMs, silentTicks } = end.patience;
    let silent = 0;
    const look = (): void => {
      if (!end.isOpen) return;
      if (!this.#isSilent(end)) {
        end.isWatched = false;
        return;
      }
      if (++silent >= silentTicks) {
        end.reset("silent");
        return;
      }
      this.timeline.plan(this.timeline.now + tickMs, KIND.network, end.station, look);
    };
    this.timeline.plan(this.timeline.now + tickMs * this.chance.number(), KIND.network, end.station, look);
  }

  // ——— The end of a process.

  /** Its kernel, if it still runs, resets all of its connections. */
  stationGone(station: Station, resets: boolean): void {
    for (const [address, listener] of this.#listeners)
      if (listener.station === station) this.#listeners.delete(address);
    for (const end of this.endsOf(station)) {
      if (resets) {
        end.reset(undefined);
        continue;
      }
      end.isWithoutPower = true;
      end.drop();
    }
    if (!resets) this.silenced(station);
  }

  /**
   * A machine is back after a power loss: it does not know the connections that others still have with it.
   */
  placeBack(place: number): void {
    for (const ends of [...this.#ends.values()]) {
      for (const end of [...ends]) {
        const { peer } = end;
        if (peer === undefined || peer.isOpen || peer.station.place !== place || peer.station.isAwake) continue;
        this.deliver(peer, undefined, () => end.lose("reset"));
      }
    }
  }
}

/** More places than any world has. */
const PLACES = 65_536;

/** Every place has its own address. */
export const addressOf = (place: number, port: number): string => `10.0.${place >> 8}.${place & 255}:${port}`;

function placeOf(address: string): number {
  const [, , high, low] = address.split(/[.:]/);
  return Number(high) * 256 + Number(low);
}

const keyOf = (from: number, to: number): number => from * PLACES + to;
