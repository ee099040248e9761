// Decides whether a host that slept through its lease keeps its actors. Usually it drops everything.
//
// The exception is a host with its leader in the same process. While the event loop was blocked, that leader
// slept too, so it reassigned nothing, and its own leadership is over. On waking up its term ends, and it
// asks the store whether a later term has begun. If not, no leader existed that could have reassigned an
// actor. A leader that begins after the answer waits for a whole lease before it reassigns. So the lease
// continues, counted from the moment at which the store was asked.
//
// Until the answer is there no turn begins and nothing is committed. A host waits for a fifth of a lease at
// most. That is the time between two looks at the lease: a host without the exception may need as long to
// drop its actors.
//
// The monotonic clock decides whether the loop was blocked. It stands still while a machine is suspended, and
// timers are late then: such a host drops everything.

import type { Clock, Timer } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Leader } from "../discovery/leader-source.ts";
import type { HostLease } from "../model/host-lease.ts";

export interface SleptLeaseDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly lease: HostLease;
  /** The lease continues. */
  kept(): void;
  /** The host has to drop everything, and calls `clear`. */
  lost(): void;
}

export class SleptLease {
  readonly #deps: SleptLeaseDeps;
  /** The leader that granted the lease, while the stream to it is open. */
  #granter: Leader | undefined;
  /** Ends the wait for the store. Present: the store is being asked. */
  #deadline: Timer | undefined;
  /** Turns that wait for the outcome. */
  #waiting: ((isKept: boolean) => void)[] = [];

  constructor(deps: SleptLeaseDeps) {
    this.#deps = deps;
  }

  get isPending(): boolean {
    return this.#deadline !== undefined;
  }

  grantedBy(leader: Leader | undefined): void {
    this.#granter = leader;
  }

  /** The stream to the leader closed. While the store is asked, only the end of the term may cause that. */
  closed(isTermOver: boolean): void {
    if (!this.isPending) this.#granter = undefined;
    else if (!isTermOver) this.#deps.lost();
  }

  /** To be called when the lease is over. True: the store is being asked, and `kept` or `lost` follows. */
  ask(): boolean {
    if (this.isPending) return true;
    const { clock, log, lease } = this.#deps;
    const now = clock.monotonic();
    const granter = this.#granter;
    if (granter?.endTerm === undefined || now < lease.endsAt) return false;
    log.warn("lease.overslept", { ms: Math.round(now - lease.endsAt) });
    const sequence = lease.renewing(now, clock.now());
    const deadline = clock.after(lease.renewEveryMs, () => this.#deps.lost(), "background");
    this.#deadline = deadline;
    // Messages that this leader sent before its term ended arrive first.
    const answered = (isNewest: boolean): void => clock.soon(() => this.#answered(deadline, isNewest, sequence));
    granter.endTerm().then(answered, () => answered(false));
    return true;
  }

  #answered(deadline: Timer, isNewest: boolean, sequence: number): void {
    if (this.#deadline !== deadline) return;
    const { clock, log, lease } = this.#deps;
    if (isNewest) lease.renewed(sequence);
    // The process may have slept again.
    if (!isNewest || !lease.lasts(clock.monotonic(), clock.now())) {
      this.#deps.lost();
      return;
    }
    log.info("lease.confirmed");
    this.#end(() => this.#deps.kept(), true);
  }

  /** Calls back with the outcome. */
  wait(settled: (isKept: boolean) => void): void {
    this.#waiting.push(settled);
  }

  /** The host has dropped everything, or stops. */
  clear(): void {
    this.#end(() => {}, false);
  }

  #end(before: () => void, isKept: boolean): void {
    this.#deadline?.cancel();
    this.#deadline = undefined;
    this.#granter = undefined;
    const waiting = this.#waiting;
    this.#waiting = [];
    before();
    for (const settled of waiting) settled(isKept);
  }
}
