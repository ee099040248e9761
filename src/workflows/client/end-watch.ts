// Waits for the ends of runs, in this process and elsewhere. A run that ends in this process is reported at
// once. Ends elsewhere are read in batches: when the store signals that a run may have ended, and
// periodically. A run that is loaded here usually ends here soon, so the store is asked about it only after a
// second: another process may end it.
import { backoffMs } from "../../kernel/backoff.ts";
import { LimpetError } from "../../kernel/errors.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { RunStatus, Workflows } from "../../ports/store/workflows.ts";

export interface ClosedRun {
  readonly status: RunStatus;
  readonly result: string;
}

const FIRST_LOOK_MS = 20;
const LONGEST_PAUSE_MS = 1_000;
/** For this long the store is not asked about a run that is loaded here. */
const HERE_MS = 1_000;
/** Runs in one read. */
const LOOK = 1_000;

interface Waiter {
  readonly runId: string | undefined;
  readonly since: number;
  readonly resolve: (end: ClosedRun) => void;
  readonly reject: (reason: unknown) => void;
}

/** A store restored from a backup lost the run and assigned its ref to another one. */
const lostRun = (runId: string): LimpetError =>
  new LimpetError(
    "WORKFLOW_UNKNOWN",
    `the store does not have run ${runId} any more: it was restored from an earlier point`,
  );

export class EndWatch {
  readonly #clock: Clock;
  readonly #store: Workflows;
  readonly #isHere: (ref: number) => boolean;
  readonly #waiters = new Map<number, Set<Waiter>>();
  /** Looks since the last change; each pause is longer. */
  #looks = 0;
  #timer: Timer | undefined;
  #isLooking = false;
  #stopped: Error | undefined;

  /** `isHere`: the run is loaded in this process. `left` is called when it is unloaded before its end. */
  constructor(clock: Clock, store: Workflows, isHere: (ref: number) => boolean) {
    this.#clock = clock;
    this.#store = store;
    this.#isHere = isHere;
  }

  /**
   * Rejects with the signal's reason when it is aborted. `runId`: ignores the end of another run with the
   * same ref.
   */
  wait(ref: number, runId: string | undefined, signal?: AbortSignal): Promise<ClosedRun> {
    if (this.#stopped !== undefined) return Promise.reject(this.#stopped);
    const { promise, resolve, reject } = Promise.withResolvers<ClosedRun>();
    const waiter: Waiter = { runId, since: this.#clock.monotonic(), resolve, reject };
    const waiters = this.#waiters.get(ref) ?? new Set();
    waiters.add(waiter);
    this.#waiters.set(ref, waiters);
    const abort = (): void => {
      waiters.delete(waiter);
      if (waiters.size === 0) this.#waiters.delete(ref);
      reject(signal!.reason);
    };
    if (signal?.aborted === true) abort();
    else signal?.addEventListener("abort", abort, { once: true });
    this.#looks = 0;
    this.#lookLater();
    return promise.finally(() => signal?.removeEventListener("abort", abort));
  }

  ended(ref: number, runId: string, end: ClosedRun): void {
    const waiters = this.#waiters.get(ref);
    if (waiters === undefined) return;
    this.#waiters.delete(ref);
    for (const { resolve, reject, runId: awaited } of waiters) {
      if (awaited === undefined || awaited === runId) resolve(end);
      else reject(lostRun(awaited));
    }
  }

  /** Rejects all waiting calls; their callers may ask another process. */
  stop(reason: Error): void {
    this.#stopped = reason;
    this.#timer?.cancel();
    for (const waiters of this.#waiters.values()) for (const { reject } of waiters) reject(reason);
    this.#waiters.clear();
  }

  /** The run is no longer loaded here, so it may end elsewhere. */
  left(ref: number): void {
    if (!this.#waiters.has(ref)) return;
    this.#looks = 0;
    this.#lookLater();
  }

  /** A run may have ended elsewhere. */
  nudge(): void {
    this.#looks = 0;
    void this.#look();
  }

  #lookLater(): void {
    if (this.#isLooking || this.#waiters.size === 0) return;
    this.#timer?.cancel();
    const pauseMs = backoffMs(this.#looks++, FIRST_LOOK_MS, LONGEST_PAUSE_MS);
    this.#timer = this.#clock.after(pauseMs, () => void this.#look(), "background");
  }

  #uncertain(): number[] {
    const since = this.#clock.monotonic() - HERE_MS;
    const isLong = (waiters: ReadonlySet<Waiter>) => waiters.values().some((each) => each.since < since);
    return [...this.#waiters].filter(([ref, waiters]) => !this.#isHere(ref) || isLong(waiters)).map(([ref]) => ref);
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const refs = this.#uncertain();
      for (let from = 0; from < refs.length; from += LOOK) {
        for (const { ref, runId, status, result } of await this.#store.watchEnds(refs.slice(from, from + LOOK))) {
          this.ended(ref, runId, { status, result });
        }
      }
    } catch {
      // The next read may succeed.
    } finally {
      this.#isLooking = false;
    }
    this.#lookLater();
  }
}
