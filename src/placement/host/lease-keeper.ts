// Keeps the lease of a host: renews it on the stream to the leader, and notices its end, with or without a
// leader. host-lease.ts has the arithmetic. A host that slept together with its leader is an exception, see
// slept-lease.ts.
import type { Clock, Timer } from "../../ports/clock.ts";
import type { ControlStream, HostMessage } from "../../ports/control-messages.ts";
import type { Log } from "../../ports/log.ts";
import type { Leader } from "../discovery/leader-source.ts";
import type { HostLease } from "../model/host-lease.ts";
import { SleptLease } from "./slept-lease.ts";

export interface LeaseKeeperDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly catalog: { readonly resident: number };
  readonly lease: HostLease;
  /** A turn may begin again: the host has a lease, or enough of it. */
  gained(): void;
  /** The lease continues after a sleep, without a stream. */
  kept(): void;
  /** The host has to drop everything, and calls `clear`. */
  lost(): void;
}

export class LeaseKeeper {
  readonly #deps: LeaseKeeperDeps;
  readonly #lease: HostLease;
  readonly #slept: SleptLease;
  #renewal: Timer | undefined;
  #ending: Timer | undefined;
  #stopped = false;

  constructor(deps: LeaseKeeperDeps) {
    this.#deps = deps;
    this.#lease = deps.lease;
    const { clock, log, lease, lost } = deps;
    this.#slept = new SleptLease({ clock, log, lease, lost, kept: () => this.#kept() });
  }

  /** The store is being asked whether the host keeps its lease: no stream may be opened meanwhile. */
  get isPending(): boolean {
    return this.#slept.isPending;
  }

  /** Renews the lease on this stream until `pause`. */
  renew(stream: ControlStream<HostMessage>): void {
    this.#renewal?.cancel();
    const { clock, catalog } = this.#deps;
    const sequence = this.#lease.renewing(clock.monotonic(), clock.now());
    stream.send({ kind: "renew", sequence, actors: catalog.resident });
    this.#renewal = clock.after(this.#lease.renewEveryMs, () => this.renew(stream), "background");
  }

  /** The stream has ended. */
  pause(): void {
    this.#renewal?.cancel();
  }

  /** The leader has answered a renewal. Returns false if it came too late: the lease is over. */
  renewed(sequence: number, leader: Leader | undefined): boolean {
    const { clock } = this.#deps;
    // The lease counts from the request, even if the answer is read late. If the lease is over already,
    // everything must go first.
    if (this.#isOver()) {
      this.#endLease();
      return false;
    }
    const waited = !this.#lease.held || !this.#lease.mayBegin(clock.monotonic(), clock.now());
    this.#lease.renewed(sequence);
    this.#slept.grantedBy(leader);
    this.#watchEnd();
    if (waited) this.#deps.gained();
    return true;
  }

  /**
   * Checked as often as the lease is renewed, also without a leader: a clock that stood still fires as late
   * as the process slept.
   */
  #watchEnd(): void {
    this.#ending?.cancel();
    const { clock } = this.#deps;
    const ms = Math.min(Math.max(this.#lease.endsAt - clock.monotonic(), 0), this.#lease.renewEveryMs);
    this.#ending = clock.after(
      ms,
      () => {
        if (!this.#lease.held) return;
        if (this.#lease.lasts(clock.monotonic(), clock.now())) this.#watchEnd();
        else this.#endLease();
      },
      "background",
    );
  }

  #isOver(): boolean {
    const { clock } = this.#deps;
    return this.#lease.held && !this.#lease.lasts(clock.monotonic(), clock.now());
  }

  #endLease(): void {
    if (!this.#slept.ask()) this.#deps.lost();
  }

  #kept(): void {
    this.#watchEnd();
    this.#deps.kept();
  }

  /** If the leader of this process ends its term because it slept, the host asks before the next term. */
  leaderChanged(): void {
    if (this.#isOver()) this.#slept.ask();
  }

  /** The host has dealt with the end of its stream. */
  closed(isTermOver: boolean): void {
    this.#slept.closed(isTermOver);
  }

  /** Calls back once it is known whether the host keeps its lease. */
  confirm(settled: (isKept: boolean) => void): void {
    const { clock } = this.#deps;
    if (this.#lease.lasts(clock.monotonic(), clock.now())) settled(true);
    else if (!this.#lease.held || this.#stopped || !this.#slept.ask()) settled(false);
    else this.#slept.wait(settled);
  }

  /** The host has dropped everything. */
  clear(): void {
    this.#renewal?.cancel();
    this.#ending?.cancel();
    this.#slept.clear();
  }

  stop(): void {
    this.#stopped = true;
    this.clear();
  }
}
