// Deactivates actors without a call for `idleTimeout`. Sticky and remembered actors stay in memory: a sweep
// only counts them, once each, when they have become idle. No timer runs while no actor is in memory. Where
// the number of actors is limited, `evict` removes one before the next activates.
import type { Clock, Timer } from "../../ports/clock.ts";
import type { ActorType } from "../actor-type.ts";
import type { Activation } from "./activation.ts";

export interface IdleSweeperDeps {
  readonly clock: Clock;
  readonly types: ReadonlyMap<string, ActorType>;
  /** Number of actors in memory. */
  readonly resident: number;
  readonly stopping: boolean;
}

/** Interval of sweeps; shorter timeouts make it a quarter of the shortest one. */
const SWEEP_MS = 5_000;

export class IdleSweeper {
  readonly #deps: IdleSweeperDeps;
  #timer: Timer | undefined;
  /** True: no actor in memory can leave because it is idle. */
  #isRare = false;

  constructor(deps: IdleSweeperDeps) {
    this.#deps = deps;
  }

  /** Plans the next sweep. `opened`: type of a just activated actor. */
  plan(opened?: ActorType): void {
    const { clock, types, resident, stopping } = this.#deps;
    if (resident === 0 || stopping) return;
    if (this.#timer !== undefined) {
      if (!this.#isRare || opened?.staysWhenIdle === true) return;
      this.#timer.cancel();
    }
    let every = SWEEP_MS;
    let rarely = Number.POSITIVE_INFINITY;
    this.#isRare = true;
    for (const { options, activations, staysWhenIdle } of types.values()) {
      every = Math.min(every, options.idleTimeoutMs / 4);
      rarely = Math.min(rarely, options.idleTimeoutMs);
      if (activations.size > 0 && !staysWhenIdle) this.#isRare = false;
    }
    if (this.#isRare) every = rarely;
    this.#plan(clock, every);
  }

  #plan(clock: Clock, everyMs: number): void {
    const sweep = (): void => {
      this.#timer = undefined;
      this.#sweep();
      this.plan();
    };
    this.#timer = clock.after(everyMs, sweep, "background");
  }

  #sweep(): void {
    const { clock, types } = this.#deps;
    const now = clock.monotonic();
    for (const type of types.values()) {
      const { useOrder, options, instruments, limit, isRemembered } = type;
      limit?.makeRoom(type, 0);
      if (isRemembered) continue;
      if (options.sticky !== undefined) {
        instruments.idleSkipped.add(useOrder.countIdle(now - options.idleTimeoutMs));
        continue;
      }
      let at = useOrder.oldest;
      while (at !== undefined && now - at.lastUsed >= options.idleTimeoutMs) {
        const newer: Activation | undefined = at.newer;
        if (at.idle) at.deactivate("idle");
        at = newer;
      }
    }
  }

  stop(): void {
    this.#timer?.cancel();
  }
}

/** Busy actors that one search skips, at most. */
const SEARCH = 64;

/**
 * Called when a host has as many actors in memory as it may have.
 * Deactivates the least recently used idle actor; a remembered one only if there is no other. False: no actor
 * is idle.
 */
export function evict(types: readonly ActorType[]): boolean {
  const victim =
    leastUsed(types.filter(({ isRemembered }) => !isRemembered)) ??
    leastUsed(types.filter(({ isRemembered }) => isRemembered));
  victim?.deactivate("memory");
  return victim !== undefined;
}

/** The least recently used idle activation. */
function leastUsed(types: readonly ActorType[]): Activation | undefined {
  let found: Activation | undefined;
  for (const { useOrder } of types) {
    let candidate = useOrder.oldest;
    // A busy actor is in use: at the other end of the order the next searches do not meet it again soon.
    for (let i = 0; i < SEARCH && candidate !== undefined && !candidate.idle; i++) {
      const next: Activation | undefined = candidate.newer;
      useOrder.touch(candidate);
      candidate = next;
    }
    if (candidate?.idle && (found === undefined || candidate.lastUsed < found.lastUsed)) found = candidate;
  }
  return found;
}
