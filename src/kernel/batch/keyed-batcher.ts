// Combines many requests into one request to the store. While a batch is in progress, the next one collects.
// With several lanes, a full batch is sent in parallel, so that the store and this process work at the same
// time. Two requests of a key are never in progress at once, and requests of a key keep their order: these
// requests have no fence (FencedBatcher is for those that have one). Each request has its own deadline for
// retries; every request here may be sent twice (ports/store/reminders.ts).

import type { Clock } from "../../ports/clock.ts";
import { backoffMs } from "../backoff.ts";
import { isLimpetError, LimpetError } from "../errors.ts";
import { LIMITS } from "../limits.ts";

const LARGEST = 1_000;
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1_000;

interface Waiting<Request, Answer> {
  readonly request: Request;
  /** End of the retries, on the monotonic clock. */
  readonly until: number;
  readonly resolve: (answer: Answer | Promise<Answer>) => void;
  readonly reject: (error: unknown) => void;
  /** Sent in a batch of its own. */
  isAlone: boolean;
  /** An attempt had no answer, and the store may have applied it. */
  isAmbiguous: boolean;
  /** The error of the latest attempt; undefined before the first attempt. */
  failure: { readonly error: unknown } | undefined;
  /** The request has its answer. */
  isOver: boolean;
}

export interface KeyedBatcherDeps<Request, Answer> {
  readonly clock: Clock;
  send(batch: readonly Request[]): Promise<readonly Answer[]>;
  /** Two requests of the same key are never in progress at once. */
  keyOf?(request: Request): string;
  /** Batches in progress at once. Default: 1. */
  readonly lanes?: number;
  /** Requests in one batch, at most. Default: 1,000. */
  readonly largest?: number;
  /**
   * The error of a request whose time ends during an attempt: either ambiguous, or nothing can have happened.
   * Left out: the request waits for the end of the attempt.
   */
  readonly late?: "COMMIT_UNKNOWN" | "STORE_UNAVAILABLE";
  /** The answer after an earlier attempt had no answer and may have been applied. */
  resolveAmbiguous?(request: Request, answer: Answer): Answer | Promise<Answer>;
}

export class KeyedBatcher<Request, Answer> {
  readonly #deps: KeyedBatcherDeps<Request, Answer>;
  readonly #lanes: number;
  readonly #largest: number;
  #waiting: Waiting<Request, Answer>[] = [];
  /** Batches in progress or about to be. */
  #busy = 0;
  /** A batch is about to be sent, and has not taken its requests yet. */
  #isOpening = false;
  /** The key of the latest batch, if it was a single request. */
  #latest: string | undefined;
  /** Batches in progress; tracked only where requests can be late. */
  readonly #sent = new Set<readonly Waiting<Request, Answer>[]>();
  #isWatching = false;
  /** Keys in progress: the next request of the same key waits for the answer. */
  readonly #keys = new Set<string>();
  /** Ends the pause of each batch that waits for its next attempt. */
  readonly #pauses = new Set<() => void>();
  #isEnding = false;

  constructor(deps: KeyedBatcherDeps<Request, Answer>) {
    this.#deps = deps;
    this.#lanes = deps.lanes ?? 1;
    this.#largest = deps.largest ?? LARGEST;
  }

  /** `until`: end of the retries, on the monotonic clock. At least one attempt is made. */
  ask(request: Request, until: number): Promise<Answer> {
    if (this.#waiting.length >= LIMITS.storeQueue) {
      const problem = `${LIMITS.storeQueue} requests already wait for the store; try again later`;
      return Promise.reject(new LimpetError("STORE_UNAVAILABLE", problem));
    }
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const state = { isAlone: false, isAmbiguous: false, isOver: false, failure: undefined };
    this.#waiting.push({ request, until, resolve, reject, ...state });
    if (!this.#isWatching && this.#deps.late !== undefined) this.#watch(until);
    this.#open();
    return promise;
  }

  /**
   * Ends all retries, because the process stops. Requests whose latest attempt failed are rejected, and each
   * of the others gets one attempt.
   */
  end(): void {
    this.#isEnding = true;
    const hasFailed = ({ failure, isAlone }: Waiting<Request, Answer>): boolean => failure !== undefined && !isAlone;
    const failed = this.#waiting.filter(hasFailed);
    this.#waiting = this.#waiting.filter((one) => !hasFailed(one));
    for (const one of failed) this.#reject(one, one.failure?.error);
    for (const proceed of this.#pauses) proceed();
  }

  #reject({ reject, isAmbiguous }: Waiting<Request, Answer>, error: unknown): void {
    reject(isAmbiguous && !isLimpetError(error, "COMMIT_UNKNOWN") ? ambiguousOutcome(error) : error);
  }

  /** The first batch is sent with any size, others when they are full. */
  #open(): void {
    const least = this.#busy === 0 ? 1 : this.#largest;
    if (this.#isOpening || this.#busy >= this.#lanes || this.#waiting.length < least) return;
    this.#busy++;
    if (this.#isFollowed()) {
      void this.#work();
      return;
    }
    this.#isOpening = true;
    // Requests of the same moment form one batch.
    this.#deps.clock.soon(() => {
      this.#isOpening = false;
      void this.#work();
    });
  }

  /**
   * A request that follows one of the same key without others in between is most likely alone, so it does not
   * wait for others.
   */
  #isFollowed(): boolean {
    if (this.#latest === undefined || this.#waiting.length > 1) return false;
    return this.#deps.keyOf!(this.#waiting[0]!.request) === this.#latest;
  }

  async #work(): Promise<void> {
    for (let failures = 0; this.#waiting.length > 0; ) {
      const batch = this.#next();
      // The lane that has the other requests in progress sends these, too.
      if (batch.length === 0) break;
      this.#latest = batch.length === 1 ? this.#deps.keyOf?.(batch[0]!.request) : undefined;
      this.#open();
      const keys = this.#lockKeys(batch);
      if (this.#deps.late !== undefined) this.#sent.add(batch);
      try {
        const answers = await this.#deps.send(batch.map(({ request }) => request));
        failures = 0;
        for (const [i, waiting] of batch.entries()) {
          if (!waiting.isOver) waiting.resolve(this.#answerOf(waiting, answers[i]!));
        }
      } catch (error) {
        // The attempt is over: a request whose time ends during the pause is not ambiguous.
        this.#sent.delete(batch);
        if (this.#failed(batch, error)) await this.#pause(failures++);
      } finally {
        this.#sent.delete(batch);
        for (const key of keys) this.#keys.delete(key);
      }
    }
    this.#busy--;
  }

  /** One timer for all requests, which runs while there are any. */
  #watch(until: number): void {
    this.#isWatching = true;
    const { clock } = this.#deps;
    const look = (): void => {
      this.#isWatching = false;
      const now = clock.monotonic();
      const waiting = [...this.#sent].flat().concat(this.#waiting);
      for (const one of waiting) if (!one.isOver && one.until <= now) this.#giveUp(one);
      this.#waiting = this.#waiting.filter(({ isOver }) => !isOver);
      const next = waiting.reduce((first, one) => (one.isOver ? first : Math.min(first, one.until)), Infinity);
      if (next < Infinity) this.#watch(next);
    };
    clock.after(Math.max(until - clock.monotonic(), 1), look, "background");
  }

  #giveUp(one: Waiting<Request, Answer>): void {
    one.isOver = true;
    const isSent = [...this.#sent].some((batch) => batch.includes(one));
    const error = new LimpetError("STORE_UNAVAILABLE", "the store is silent; nothing was changed");
    const isUnknown = one.isAmbiguous || (isSent && this.#deps.late === "COMMIT_UNKNOWN");
    one.reject(isUnknown ? ambiguousOutcome(error) : error);
  }

  #lockKeys(batch: readonly Waiting<Request, Answer>[]): string[] {
    const { keyOf } = this.#deps;
    if (keyOf === undefined) return [];
    const keys = batch.map(({ request }) => keyOf(request));
    for (const key of keys) this.#keys.add(key);
    return keys;
  }

  #answerOf({ request, isAmbiguous }: Waiting<Request, Answer>, answer: Answer): Answer | Promise<Answer> {
    return isAmbiguous ? (this.#deps.resolveAmbiguous?.(request, answer) ?? answer) : answer;
  }

  /** The oldest requests, each key once; or one request that must be sent alone. */
  #next(): Waiting<Request, Answer>[] {
    const { keyOf } = this.#deps;
    const isLocked = (request: Request) => keyOf !== undefined && this.#keys.has(keyOf(request));
    if (this.#waiting[0]!.isAlone && !isLocked(this.#waiting[0]!.request)) return this.#waiting.splice(0, 1);
    const keys = new Set<string>();
    const batch: Waiting<Request, Answer>[] = [];
    const rest: Waiting<Request, Answer>[] = [];
    let looked = 0;
    for (const waiting of this.#waiting) {
      if (batch.length === this.#largest) break;
      looked++;
      const key = keyOf?.(waiting.request);
      const isFree = !waiting.isAlone && (key === undefined || !(keys.has(key) || this.#keys.has(key)));
      (isFree ? batch : rest).push(waiting);
      // A request that has to wait also delays later ones of its key.
      if (key !== undefined) keys.add(key);
    }
    this.#waiting = rest.concat(this.#waiting.slice(looked));
    return batch;
  }

  /** True: some requests are retried after a pause. */
  #failed(batch: readonly Waiting<Request, Answer>[], error: unknown): boolean {
    const isUnknown = isLimpetError(error, "COMMIT_UNKNOWN");
    const isPermanent = !isUnknown && !isLimpetError(error, "STORE_UNAVAILABLE");
    const now = this.#deps.clock.monotonic();
    const retried: Waiting<Request, Answer>[] = [];
    for (const waiting of batch) {
      if (waiting.isOver) continue;
      waiting.isAmbiguous ||= isUnknown;
      waiting.failure = { error };
      const isRetried = isPermanent ? batch.length > 1 : now < waiting.until && !this.#isEnding;
      if (isPermanent) waiting.isAlone = true;
      if (isRetried) retried.push(waiting);
      else this.#reject(waiting, error);
    }
    this.#waiting = [...retried, ...this.#waiting];
    return retried.length > 0 && !isPermanent;
  }

  #pause(failures: number): Promise<void> {
    const ms = backoffMs(failures, FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    return new Promise<void>((resolve) => {
      const proceed = (): void => {
        timer.cancel();
        this.#pauses.delete(proceed);
        resolve();
      };
      const timer = this.#deps.clock.after(ms, proceed);
      this.#pauses.add(proceed);
    });
  }
}

/** The caller must not get "nothing happened" when an earlier attempt may have been applied. */
const ambiguousOutcome = (cause: unknown): LimpetError =>
  new LimpetError("COMMIT_UNKNOWN", `an answer of the store was lost; it may have been done or not (${cause})`);
