// Batches takes, commits and other fenced requests to the store: many callers, one round trip. Requests
// submitted together form one batch; while batches are in progress, the next one collects requests.
//
// Requests are idempotent and the store fences them, so two batches may hold the same key at once, and a
// batch without an answer is retried. KeyedBatcher is for requests without a fence: it never has two requests
// of a key in progress. This class has no promise or timer per request, because every durable turn uses it.
// All members share one patience, one pause and one timer; a member with a locked row is retried alone.

import type { Clock } from "../../ports/clock.ts";
import type { Counter, Histogram } from "../../ports/meter.ts";
import type { Random } from "../../ports/random.ts";
import { backoffMs } from "../backoff.ts";
import { isLimpetError, LimpetError } from "../errors.ts";
import { LIMITS } from "../limits.ts";

export interface FencedBatcherDeps<Request, Answer> {
  readonly clock: Clock;
  readonly random: Random;
  /** Batches in progress at once. */
  readonly lanes: number;
  /** A batch of this size is sent at once, without waiting for more requests. */
  readonly eager: number;
  /** How long a member waits for the store before its caller gets an error. */
  readonly patienceMs: number;
  /**
   * True: an unanswered attempt changes nothing that matters, so a caller that gives up may repeat its
   * request.
   */
  readonly isHarmless?: boolean;
  readonly weigh: (request: Request) => number;
  /**
   * The actor of a request; a batch contains an actor once. Two requests for one actor exist when one
   * incarnation was cut off during its request and the next one has begun.
   */
  readonly keyOf: (request: Request) => number | string;
  readonly send: (batch: Request[]) => Promise<(Answer | "locked")[]>;
  /** Converts the answer when an earlier attempt may have been applied without an answer. */
  readonly resolveAmbiguous?: (answer: Answer) => Answer | LimpetError;
  readonly batchSize: Histogram;
  readonly seconds: Histogram;
  readonly retries: Counter;
}

/** Receives the outcome of a request. Neither method may throw. */
export interface BatchCaller<Answer> {
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

class Member<Request, Answer> {
  readonly request: Request;
  /** Value of the era counter at submission; `giveUp()` raises the counter. */
  readonly era: number;
  readonly weight: number;
  readonly caller: BatchCaller<Answer>;
  /**
   * Submission time on the monotonic clock: the time of the first attempt, unless the member had to wait for
   * it.
   */
  since = Number.POSITIVE_INFINITY;
  /** The caller has its answer. */
  isOver = false;
  /** An attempt may have been applied without an answer. */
  isAmbiguous = false;
  isAlone = false;
  /** Attempts that found the row locked. */
  lockedAttempts = 0;

  constructor(request: Request, era: number, weight: number, caller: BatchCaller<Answer>) {
    this.request = request;
    this.era = era;
    this.weight = weight;
    this.caller = caller;
  }
}

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1_000;

export class FencedBatcher<Request, Answer> {
  readonly #deps: FencedBatcherDeps<Request, Answer>;
  #waiting: Member<Request, Answer>[] = [];
  readonly #sent = new Set<Member<Request, Answer>[]>();
  #inProgress = 0;
  #isWatching = false;
  #isCollecting = false;
  /** Consecutive attempts without an answer. */
  #failures = 0;
  #era = 0;

  constructor(deps: FencedBatcherDeps<Request, Answer>) {
    this.#deps = deps;
  }

  submit(request: Request): Promise<Answer> {
    return new Promise((resolve, reject) => this.send(request, { resolve, reject }));
  }

  /** The same without a promise, for the path of every durable turn. */
  send(request: Request, caller: BatchCaller<Answer>): void {
    if (this.#waiting.length >= LIMITS.storeQueue) {
      caller.reject(
        new LimpetError(
          "STORE_UNAVAILABLE",
          `${LIMITS.storeQueue} requests already wait for the store; try again later`,
        ),
      );
      return;
    }
    const member = new Member(request, this.#era, this.#deps.weigh(request), caller);
    if (this.#inProgress >= this.#lanes) member.since = this.#deps.clock.monotonic();
    this.#waiting.push(member);
    if (this.#waiting.length >= this.#deps.eager && this.#failures === 0) this.#sendOff();
    else this.#collect();
  }

  /** Drops the waiting requests. Attempts in progress end, and failed ones are not retried. */
  giveUp(): void {
    this.#era++;
    this.#dropImpatient("the request was dropped");
  }

  #collect(): void {
    if (this.#isCollecting || this.#waiting.length === 0 || this.#inProgress >= this.#lanes) return;
    this.#isCollecting = true;
    const go = (): void => {
      this.#isCollecting = false;
      this.#sendOff();
    };
    if (this.#failures === 0) this.#deps.clock.soon(go);
    else this.#deps.clock.after(this.#pause(this.#failures), go);
  }

  #sendOff(): void {
    while (this.#waiting.length > 0 && this.#inProgress < this.#lanes) void this.#send(this.#nextBatch());
  }

  /** While the store does not answer, one batch at a time probes it. */
  get #lanes(): number {
    return this.#failures === 0 ? this.#deps.lanes : 1;
  }

  #pause(attempts: number): number {
    return backoffMs(attempts, FIRST_PAUSE_MS, LONGEST_PAUSE_MS, this.#deps.random.number());
  }

  #nextBatch(): Member<Request, Answer>[] {
    const waiting = this.#waiting;
    // The queue is divided among the free lanes: while the store handles one batch, the callers of another
    // continue.
    const share = Math.max(this.#deps.eager, Math.ceil(waiting.length / (this.#lanes - this.#inProgress)));
    const most = Math.min(share, LIMITS.batchSize);
    let count = 1;
    let weight = waiting[0]!.weight;
    if (!waiting[0]!.isAlone && most > 1) {
      const { keyOf } = this.#deps;
      const keys = new Set([keyOf(waiting[0]!.request)]);
      while (count < waiting.length && count < most) {
        const { request, weight: more, isAlone } = waiting[count]!;
        const key = keyOf(request);
        weight += more;
        if (weight > LIMITS.batchBytes || isAlone || keys.has(key)) break;
        keys.add(key);
        count++;
      }
    }
    return waiting.splice(0, count);
  }

  async #send(batch: Member<Request, Answer>[]): Promise<void> {
    const { clock, send, batchSize, seconds } = this.#deps;
    this.#inProgress++;
    this.#sent.add(batch);
    const begun = clock.monotonic();
    for (const member of batch) if (member.since > begun) member.since = begun;
    if (!this.#isWatching) this.#watch(this.#deps.patienceMs);
    let answers: (Answer | "locked")[];
    try {
      answers = await send(batch.map((member) => member.request));
    } catch (error) {
      this.#inProgress--;
      this.#sent.delete(batch);
      const left = batch.filter(({ isOver }) => !isOver);
      if (left.length > 0) this.#failed(left, error);
      else this.#failures++;
      this.#collect();
      return;
    }
    this.#inProgress--;
    this.#sent.delete(batch);
    this.#failures = 0;
    batchSize.observe(batch.length);
    seconds.observe((clock.monotonic() - begun) / 1_000);
    for (let i = 0; i < batch.length; i++) this.#answer(batch[i]!, answers[i]);
    this.#collect();
  }

  /** One timer for all members; it runs while there are any. */
  #watch(ms: number): void {
    this.#isWatching = true;
    const { clock, patienceMs } = this.#deps;
    const look = (): void => {
      this.#isWatching = false;
      const now = clock.monotonic();
      this.#dropImpatient("the store is silent");
      let first = Number.POSITIVE_INFINITY;
      for (const batch of this.#sent) {
        for (const member of batch) {
          if (member.isOver) continue;
          if (member.since + patienceMs <= now) this.#giveUpOn(member);
          else first = Math.min(first, member.since);
        }
      }
      for (const { since } of this.#waiting) first = Math.min(first, since);
      if (first < Number.POSITIVE_INFINITY) this.#watch(Math.max(first + patienceMs - now, 1));
    };
    clock.after(ms, look, "background");
  }

  /** The attempt is in progress, and may still be applied. */
  #giveUpOn(member: Member<Request, Answer>): void {
    const why = "the store is silent";
    member.isOver = true;
    member.isAmbiguous ||= this.#deps.isHarmless !== true;
    member.caller.reject(member.isAmbiguous ? ambiguousOutcome(why) : nothingChanged(why));
  }

  #answer(member: Member<Request, Answer>, answer: Answer | "locked" | undefined): void {
    if (member.isOver) return;
    if (answer === undefined) {
      member.caller.reject(new LimpetError("INVARIANT", "the store answered fewer requests than it was sent"));
      return;
    }
    if (answer === "locked") {
      this.#holdBack(member);
      return;
    }
    const result = member.isAmbiguous ? (this.#deps.resolveAmbiguous?.(answer) ?? answer) : answer;
    if (isLimpetError(result)) member.caller.reject(result);
    else member.caller.resolve(result);
  }

  /**
   * The store answers, so this is not its failure: only the member with the locked row waits, and delays no
   * other.
   */
  #holdBack(member: Member<Request, Answer>): void {
    member.isAlone = true;
    this.#deps.clock.after(this.#pause(++member.lockedAttempts), () => {
      this.#waiting.push(member);
      this.#dropImpatient("the transaction of another process holds the row");
      this.#collect();
    });
  }

  #failed(batch: Member<Request, Answer>[], error: unknown): void {
    const isUnknown = isLimpetError(error, "COMMIT_UNKNOWN");
    if (isUnknown || isLimpetError(error, "STORE_UNAVAILABLE")) {
      this.#failures++;
      this.#deps.retries.add(1);
      for (const member of batch) member.isAmbiguous ||= isUnknown;
      this.#waiting.unshift(...batch);
      this.#dropImpatient(error.message);
    } else if (batch.length > 1) {
      for (const member of batch) member.isAlone = true;
      this.#waiting.unshift(...batch);
    } else {
      batch[0]!.caller.reject(batch[0]!.isAmbiguous ? ambiguousOutcome(String(error)) : error);
    }
  }

  #dropImpatient(why: string): void {
    const now = this.#deps.clock.monotonic();
    const { patienceMs } = this.#deps;
    this.#waiting = this.#waiting.filter((member) => {
      member.since = Math.min(member.since, now);
      if (member.since + patienceMs > now && member.era === this.#era) return true;
      member.isOver = true;
      member.caller.reject(member.isAmbiguous ? ambiguousOutcome(why) : nothingChanged(why));
      return false;
    });
    // No request waits: the next one probes the store at once.
    if (this.#waiting.length === 0) this.#failures = 0;
  }
}

function nothingChanged(why: string): LimpetError {
  return new LimpetError("STORE_UNAVAILABLE", `the store did not answer in time; nothing was changed (${why})`);
}

function ambiguousOutcome(why: string): LimpetError {
  return new LimpetError("COMMIT_UNKNOWN", `an answer of the store was lost; the turn may count or not (${why})`);
}
