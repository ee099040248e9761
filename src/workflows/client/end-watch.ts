// Waits for the ends of runs, wherever they run. One that ends in this process is told at once; the others are looked at together, when
// the store says that something may have ended, and now and then. A run that is worked on here will most likely end here, and soon: the
// store is asked about it when that takes long, because somebody elsewhere may end it.
import { LimpetError } from "../../kernel/errors.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { RunStatus, Workflows } from "../../ports/workflows.ts";

export interface RunEnd {
  readonly status: RunStatus;
  readonly result: string;
}

const FIRST_LOOK_MS = 20;
const LONGEST_PAUSE_MS = 1_000;
/** So long nobody asks about a run that is worked on here. */
const HERE_MS = 1_000;
/** Runs that one look asks for. */
const LOOK = 1_000;

interface Waiter {
  readonly runId: string | undefined;
  readonly since: number;
  readonly resolve: (end: RunEnd) => void;
  readonly reject: (reason: unknown) => void;
}

/** A store that was restored from a backup has forgotten the run, and has given its ref to another one. */
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
  #pauseMs = FIRST_LOOK_MS;
  #timer: Timer | undefined;
  #isLooking = false;
  #stopped: Error | undefined;

  /** `isHere`: the run is worked on in this process. When it is not any more without having ended, `left` is called. */
  constructor(clock: Clock, store: Workflows, isHere: (ref: number) => boolean) {
    this.#clock = clock;
    this.#store = store;
    this.#isHere = isHere;
  }

  /** Rejects when the signal is aborted, with its reason. `runId`: the end of another run with this ref is not the end of this one. */
  wait(ref: number, runId: string | undefined, signal?: AbortSignal): Promise<RunEnd> {
    if (this.#stopped !== undefined) return Promise.reject(this.#stopped);
    const { promise, resolve, reject } = Promise.withResolvers<RunEnd>();
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
    this.#pauseMs = FIRST_LOOK_MS;
    this.#lookLater();
    return promise.finally(() => signal?.removeEventListener("abort", abort));
  }

  ended(ref: number, runId: string, end: RunEnd): void {
    const waiters = this.#waiters.get(ref);
    if (waiters === undefined) return;
    this.#waiters.delete(ref);
    for (const { resolve, reject, runId: awaited } of waiters) {
      if (awaited === undefined || awaited === runId) resolve(end);
      else reject(lostRun(awaited));
    }
  }

  /** Nobody looks any more: whoever waits is told so, and may ask another process. */
  stop(reason: Error): void {
    this.#stopped = reason;
    this.#timer?.cancel();
    for (const waiters of this.#waiters.values()) for (const { reject } of waiters) reject(reason);
    this.#waiters.clear();
  }

  /** It may end elsewhere from now on. */
  left(ref: number): void {
    if (!this.#waiters.has(ref)) return;
    this.#pauseMs = FIRST_LOOK_MS;
    this.#lookLater();
  }

  /** Something may have ended elsewhere. */
  nudge(): void {
    this.#pauseMs = FIRST_LOOK_MS;
    void this.#look();
  }

  #lookLater(): void {
    if (this.#isLooking || this.#waiters.size === 0) return;
    this.#timer?.cancel();
    this.#timer = this.#clock.after(this.#pauseMs, () => void this.#look(), "background");
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
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
      // The next look may work.
    } finally {
      this.#isLooking = false;
    }
    this.#lookLater();
  }
}
