// A process of a virtual world: a whole Limpet app with its own clock, network and database client. It can
// sleep and resume with its old state, and it can end at any moment, with everything in its memory.

import type { App } from "../host/app.ts";
import type { ClusterWire } from "../host/cluster-wire.ts";
import type { Prng } from "../kernel/prng.ts";
import type { ProcessIdentity } from "../ports/store/coordination.ts";
import type { Store } from "../ports/store/store.ts";
import type { Database } from "./database/database.ts";
import { type ClockTroubles, LocalClock } from "./local-clock.ts";
import { addressOf, type Network, type Station } from "./network/network.ts";
import { VirtualControlServer, VirtualScheduler } from "./network/virtual-control.ts";
import { VirtualLinkServer } from "./network/virtual-link-server.ts";
import { VirtualLinks } from "./network/virtual-links.ts";
import { type Happening, KIND, type Timeline } from "./timeline.ts";

const LINK_PORT = 7_401;
export const SCHEDULER_PORT = 7_400;

export interface VirtualProcessDeps {
  readonly timeline: Timeline;
  readonly network: Network;
  readonly database: Database;
  readonly chance: Prng;
  readonly clock: ClockTroubles;
  /** True if a process of the same machine has ended. */
  hasEnded(process: ProcessIdentity): boolean;
}

export class Process implements Station {
  /** Unique for every start of every process. */
  readonly number: number;
  readonly place: number;
  readonly identity: ProcessIdentity;
  readonly clock: LocalClock;
  readonly store: Store;
  readonly wire: ClusterWire;
  readonly #deps: VirtualProcessDeps;
  /** Events that were due while it slept. */
  #held: Happening[] = [];
  #isAsleep = false;
  #waking: Happening | undefined;
  #hasEnded = false;
  /** Set when the app is up. */
  app: App | undefined;
  /** Called once, at any end of the process. */
  readonly onEnd = new Set<() => void>();

  constructor(number: number, place: number, machine: string, deps: VirtualProcessDeps) {
    const { timeline, network, database } = deps;
    this.number = number;
    this.place = place;
    this.identity = { machine, pid: number };
    this.#deps = deps;
    this.clock = new LocalClock(timeline, this, deps.clock);
    this.store = database.open(this);
    const linkAddress = addressOf(place, LINK_PORT);
    const schedulerAddress = addressOf(place, SCHEDULER_PORT);
    this.wire = {
      identity: this.identity,
      hasEnded: (process) => deps.hasEnded(process),
      openLinkServer: async (service) => new VirtualLinkServer(linkAddress, service, network, this, this.clock),
      openLinks: () => new VirtualLinks(network, this, this.clock),
      openControlServer: async (service) => new VirtualControlServer(schedulerAddress, service, network, this),
      connect: (address, term) => new VirtualScheduler(address, term, network, this),
      prepare: () => {},
    };
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  get isAsleep(): boolean {
    return this.#isAsleep;
  }

  get isAwake(): boolean {
    return !this.#isAsleep && !this.#hasEnded;
  }

  takes(happening: Happening): boolean {
    if (this.#hasEnded) return false;
    if (!this.#isAsleep) return true;
    this.#held.push(happening);
    return false;
  }

  /**
   * Stops all events until it resumes. `suspend`: its machine sleeps, and its clock stands still meanwhile.
   */
  sleep(ms: number, how: "pause" | "suspend"): void {
    if (this.#hasEnded) return;
    const { timeline, network } = this.#deps;
    if (how === "suspend") this.clock.sleep();
    this.#isAsleep = true;
    network.silenced(this);
    const at = timeline.now + ms;
    if (this.#waking !== undefined && !this.#waking.isCancelled && this.#waking.at >= at) return;
    this.#waking?.cancel();
    this.#waking = timeline.plan(at, KIND.script, undefined, () => this.wake());
  }

  /** Runs missed events now: in the order of time, or timers first, at random. */
  wake(): void {
    if (!this.#isAsleep || this.#hasEnded) return;
    const { timeline, chance } = this.#deps;
    this.#waking?.cancel();
    this.#waking = undefined;
    this.#isAsleep = false;
    this.clock.wake();
    const held = this.#held;
    this.#held = [];
    if (chance.chance(0.5)) held.sort((a, b) => Number(b.kind === KIND.timer) - Number(a.kind === KIND.timer));
    for (const happening of held) timeline.planAgain(happening, timeline.now);
  }

  /** Drops its memory. `quietly`: without any notification, as in a power loss. */
  end(quietly: boolean): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#held = [];
    this.#waking?.cancel();
    this.#deps.network.stationGone(this, !quietly);
    for (const listener of [...this.onEnd]) listener();
  }
}
