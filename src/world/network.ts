// The network of a virtual world: connections between places, as reliable as TCP and no more. What is sent on one arrives in
// order or not at all; it is late when packets are lost, waits while the line is cut, and is gone when the connection breaks.
// Nobody is told of a cut line: each end notices by silence, as the real ends do.
import type { Prng } from "../kernel/prng.ts";
import { type Carriage, End, type Patience, type Receiver, type Station } from "./end.ts";
import { KIND, type Timeline } from "./timeline.ts";

export { End, type Ending, type Patience, type Receiver, type Station } from "./end.ts";

/** One direction between two places. */
export interface Line {
  isOpen: boolean;
  /** Mean of what is added to the usual latency. */
  delayMs: number;
  /** How much of what is sent is lost, and has to be sent again. */
  loss: number;
}

const USUAL: Line = { isOpen: true, delayMs: 0, loss: 0 };
/** A lost packet is sent again after this; every further time takes twice as long. */
const RESEND_MS = 200;
const RESENDS = 6;
/** Nothing takes longer on a line that is open: it would hold up all that is behind it for as long, also when the line is well again. */
const LONGEST_MS = 20_000;

export interface Listening {
  close(): void;
}

interface Listener {
  readonly station: Station;
  readonly accept: (end: End) => Receiver;
}

/** What the network tells whoever watches it. */
export interface NetworkWatcher {
  sent(from: Station, to: number, message: unknown): void;
}

export class Network implements Carriage {
  readonly timeline: Timeline;
  readonly chance: Prng;
  /** What a message takes at least, and the mean of what it takes beyond. */
  latency = { leastMs: 0.2, moreMs: 0.3 };
  readonly watchers: NetworkWatcher[] = [];
  readonly #listeners = new Map<string, Listener>();
  readonly #lines = new Map<number, Line>();
  /** What waits for a line to open, by line. */
  readonly #waiting = new Map<number, (() => void)[]>();
  readonly #ends = new Map<Station, Set<End>>();

  constructor(timeline: Timeline, chance: Prng) {
    this.timeline = timeline;
    this.chance = chance;
  }

  // ——— Connections.

  listen(address: string, station: Station, accept: (end: End) => Receiver): Listening {
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

  connect(station: Station, address: string, patience: Patience, receiver: Receiver): End {
    const near = new End(this, station, placeOf(address), patience);
    near.receiver = receiver;
    if (station.hasEnded) {
      // What a process still does in the moment of its end reaches nobody.
      near.isOpen = false;
      return near;
    }
    this.#keep(near);
    const tooLate = this.timeline.plan(this.timeline.now + patience.connectMs, KIND.network, station, () => {
      if (near.isConnecting) near.lose("unreachable");
    });
    this.#carry(near, () => {
      // Whoever has given up does not go on shaking hands.
      if (!near.isOpen) return;
      const listener = this.#listeners.get(address);
      if (listener === undefined) {
        this.#carryBack(near, () => {
          tooLate.cancel();
          this.timeline.plan(this.timeline.now, KIND.network, station, () => near.lose("refused"));
        });
        return;
      }
      const far = new End(this, listener.station, station.place, patience);
      far.peer = near;
      far.isConnecting = false;
      // A process that hangs is connected to all the same: its kernel answers.
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

  #keep(end: End): void {
    const ends = this.#ends.get(end.station) ?? new Set();
    this.#ends.set(end.station, ends.add(end));
  }

  forget(end: End): void {
    const ends = this.#ends.get(end.station);
    ends?.delete(end);
    if (ends?.size === 0) this.#ends.delete(end.station);
  }

  endsOf(station: Station): readonly End[] {
    return [...(this.#ends.get(station) ?? [])];
  }

  /** Connections that are open. */
  get open(): number {
    let ends = 0;
    for (const each of this.#ends.values()) ends += each.size;
    return ends;
  }

  // ——— On the way.

  /** In order on its connection; belongs to whoever receives it. */
  deliver(from: End, message: unknown, arrive: () => void): void {
    const to = from.peer;
    if (to === undefined) return;
    if (message !== undefined)
      for (const watcher of this.watchers) watcher.sent(from.station, to.station.place, message);
    from.put(arrive);
    this.#send(from, to);
  }

  /** What was sent first arrives first, however long each takes. What is on a line when it is cut has to be sent again. */
  #send(from: End, to: End): void {
    const [here, there] = [from.station.place, to.station.place];
    this.#travel(here, there, () => {
      const at = Math.max(from.arrival, this.timeline.now + this.#takes(here, there));
      from.arrival = at;
      this.timeline.plan(at, KIND.message, to.station, () => {
        // What came while the process slept has been at its machine all the time.
        if (this.timeline.now > at || this.line(here, there).isOpen) from.take()?.();
        else this.#send(from, to);
      });
    });
  }

  /** Packets of a handshake, which the kernels exchange among themselves. */
  #carry(near: End, arrive: () => void): void {
    const { place } = near.station;
    this.#travel(place, near.toPlace, () =>
      this.timeline.plan(this.timeline.now + this.#takes(place, near.toPlace), KIND.network, undefined, arrive),
    );
  }

  /** `far`: what it says comes after this. */
  #carryBack(near: End, arrive: () => void, far?: End): void {
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

  /** Changes one direction. A line that opens lets go what waited for it, in order. */
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

  /** Every line is as usual again. Lines open one after another in the order given by chance. */
  heal(): void {
    for (const key of this.chance.shuffle([...this.#lines.keys()])) {
      this.change(Math.floor(key / PLACES), key % PLACES, USUAL);
    }
    this.#lines.clear();
  }

  // ——— Silence.

  /** This process hangs, or its machine is gone without a word: the ends that talk to it hear nothing any more. */
  silenced(station: Station): void {
    this.#noticeSilence((end) => end.peer?.station === station);
  }

  #noticeSilence(isAffected: (end: End) => boolean): void {
    for (const ends of [...this.#ends.values()])
      for (const end of [...ends]) if (isAffected(end)) this.#watchSilence(end);
  }

  #hearsNothing(end: End): boolean {
    const { peer } = end;
    if (peer === undefined) return false;
    return !this.line(peer.station.place, end.station.place).isOpen || !peer.station.isAwake;
  }

  /** Looks as the real ends look, and only while there is something to notice. */
  #watchSilence(end: End): void {
    if (end.isWatched || !this.#hearsNothing(end)) return;
    end.isWatched = true;
    const { tickMs, silentTicks } = end.patience;
    let silent = 0;
    const look = (): void => {
      if (!end.isOpen) return;
      if (!this.#hearsNothing(end)) {
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

  /** Its kernel, if there still is one, resets all of its connections. */
  stationGone(station: Station, tells: boolean): void {
    for (const [address, listener] of this.#listeners)
      if (listener.station === station) this.#listeners.delete(address);
    for (const end of this.endsOf(station)) {
      if (tells) {
        end.reset(undefined);
        continue;
      }
      end.isWithoutPower = true;
      end.drop();
    }
    if (!tells) this.silenced(station);
  }

  /** A machine that had lost its power is back: it does not know the connections that others believe to have with it. */
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

/** Every place has an address of its own. */
export const addressOf = (place: number, port: number): string => `10.0.${place >> 8}.${place & 255}:${port}`;

function placeOf(address: string): number {
  const [, , high, low] = address.split(/[.:]/);
  return Number(high) * 256 + Number(low);
}

const keyOf = (from: number, to: number): number => from * PLACES + to;
