// Batches requests to the store: many callers, one round trip. Requests submitted together form one batch.
// While batches are in progress, the next one collects requests. A caller gets only its own outcome.
//
// When the store does not answer, the batch returns to the front of the queue and is retried after a pause.
// Retries end when the patience of a member ends, which counts from submission. A member whose patience ends
// during an attempt gets its answer at once: a silent store delays callers no longer than one that is down.
// Retries are safe because takes and commits are idempotent (ports/store/store.ts). A member whose row is
// locked is retried alone after a pause, and the others have their answers. A batch with a permanent failure
// is split, so that one bad member fails alone.
import { isLimpetError, LimpetError } from "../kernel/errors.ts";
import { LIMITS } from "../kernel/limits.ts";
import type { Clock } from "../ports/clock.ts";
import type { Counter, Histogram } from "../ports/meter.ts";
import type { Random } from "../ports/random.ts";
import type { Held } from "../ports/store/store.ts";

export interface GroupCallSettings<Request, Answer> {
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
  readonly isHarmless?: boolean | undefined;
  readonly weigh: (request: Request) => number;
  /**
   * The actor of a request; a batch contains an actor once. Two requests for one actor exist when a life was
   * cut off during its request and the next life has begun.
   */
  readonly actorOf: (request: Request) => number | string;
  readonly send: (batch: Request[]) => Promise<(Answer | Held)[]>;
  /** Converts the answer when an earlier attempt may have been applied without an answer. */
  readonly inDoubt?: (answer: Answer) => Answer | LimpetError;
  readonly batchSize: Histogram;
  readonly seconds: Histogram;
  readonly retries: Counter;
}

/** Receives the outcome of a request. Neither method may throw. */
export interface Caller<Answer> {
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

class Member<Request, Answer> {
  readonly request: Request;
  /** Value of the era counter at submission; `giveUp()` raises the counter. */
  readonly era: number;
  readonly weight: number;
  readonly caller: Caller<Answer>;
  /**
   * Submission time on the monotonic clock: the time of the first attempt, unless the member had to wait for
   * it.
   */
  since = Number.POSITIVE_INFINITY;
  /** The caller has its answer. */
  isOver = false;
  /** An attempt may have been applied without an answer. */
  unknown = false;
  alone = false;
  /** Attempts that found the row locked. */
  held = 0;

  constructor(request: Request, era: number, weight: number, caller: Caller<Answer>) {
    this.request = request;
    this.era = era;
    this.weight = weight;
    this.caller = caller;
  }
}

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1_000;

export class GroupCall<Request, Answer> {
  readonly #settings: GroupCallSettings<Request, Answer>;
  #waiting: Member<Request, Answer>[] = [];
  readonly #sent = new Set<Member<Request, Answer>[]>();
  #underWay = 0;
  #isWatching = false;
  #gathering = false;
  /** Consecutive attempts without an answer. */
  #failures = 0;
  #era = 0;

  constructor(settings: GroupCallSettings<Request, Answer>) {
    this.#settings = settings;
  }

  submit(request: Request): Promise<Answer> {
    return new Promise((resolve, reject) => this.send(request, { resolve, reject }));
  }

  /** The same without a promise, for the path of every durable turn. */
  send(request: Request, caller: Caller<Answer>): void {
    if (this.#waiting.length >= LIMITS.storeQueue) {
      caller.reject(
        new LimpetError(
          "STORE_UNAVAILABLE",
          `${LIMITS.storeQueue} requests already wait for the store; try again later`,
        ),
      );
      return;
    }
    const member = new Member(request, this.#era, this.#settings.weigh(request), caller);
    if (this.#underWay >= this.#lanes) member.since = this.#settings.clock.monotonic();
    this.#waiting.push(member);
    if (this.#waiting.length >= this.#settings.eager && this.#failures === 0) this.#sendOff();
    else this.#gather();
  }

  /** Drops the waiting requests. Attempts in progress end, and failed ones are not retried. */
  giveUp(): void {
    this.#era++;
    this.#dropImpatient("the request was dropped");
  }

  #gather(): void {
    if (this.#gathering || this.#waiting.length === 0 || this.#underWay >= this.#lanes) return;
    this.#gathering = true;
    const go = (): void => {
      this.#gathering = false;
      this.#sendOff();
    };
    if (this.#failures === 0) this.#settings.clock.soon(go);
    else this.#settings.clock.after(this.#pause(this.#failures), go);
  }

  #sendOff(): void {
    while (this.#waiting.length > 0 && this.#underWay < this.#lanes) void this.#send(this.#nextBatch());
  }

  /** While the store does not answer, one batch at a time probes it. */
  get #lanes(): number {
    return this.#failures === 0 ? this.#settings.lanes : 1;
  }

  #pause(attempts: number): number {
    const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(attempts, 10));
    return longest * (0.5 + this.#settings.random.number() / 2);
  }

  #nextBatch(): Member<Request, Answer>[] {
    const waiting = this.#waiting;
    // The queue is divided among the free lanes: while the store handles one batch, the callers of another
    // continue.
    const share = Math.max(this.#settings.eager, Math.ceil(waiting.length / (this.#lanes - this.#underWay)));
    const most = Math.min(share, LIMITS.batchSize);
    let count = 1;
    let weight = waiting[0]!.weight;
    if (!waiting[0]!.alone && most > 1) {
      const { actorOf } = this.#settings;
      const actors = new Set([actorOf(waiting[0]!.request)]);
      while (count < waiting.length && count < most) {
        const { request, weight: more, alone } = waiting[count]!;
        const actor = actorOf(request);
        weight += more;
        if (weight > LIMITS.batchBytes || alone || actors.has(actor)) break;
        actors.add(actor);
        count++;
      }
    }
    return waiting.splice(0, count);
  }

  async #send(batch: Member<Request, Answer>[]): Promise<void> {
    const { clock, send, batchSize, seconds } = this.#settings;
    this.#underWay++;
    this.#sent.add(batch);
    const begun = clock.monotonic();
    for (const member of batch) if (member.since > begun) member.since = begun;
    if (!this.#isWatching) this.#watch(this.#settings.patienceMs);
    let answers: (Answer | Held)[];
    try {
      answers = await send(batch.map((member) => member.request));
    } catch (error) {
      this.#underWay--;
      this.#sent.delete(batch);
      const left = batch.filter(({ isOver }) => !isOver);
      if (left.length > 0) this.#failed(left, error);
      else this.#failures++;
      this.#gather();
      return;
    }
    this.#underWay--;
    this.#sent.delete(batch);
    this.#failures = 0;
    batchSize.observe(batch.length);
    seconds.observe((clock.monotonic() - begun) / 1_000);
    for (let i = 0; i < batch.length; i++) this.#answer(batch[i]!, answers[i]);
    this.#gather();
  }

  /** One timer for all members; it runs while there are any. */
  #watch(ms: number): void {
    this.#isWatching = true;
    const { clock, patienceMs } = this.#settings;
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
    member.unknown ||= this.#settings.isHarmless !== true;
    member.caller.reject(member.unknown ? unknownOutcome(why) : nothingChanged(why));
  }

  #answer(member: Member<Request, Answer>, answer: Answer | Held): void {
    if (member.isOver) return;
    if (answer === undefined) {
      this.#holdBack(member);
      return;
    }
    const result = member.unknown ? (this.#settings.inDoubt?.(answer) ?? answer) : answer;
    if (isLimpetError(result)) member.caller.reject(result);
    else member.caller.resolve(result);
  }

  /**
   * The store answers, so this is not its failure: only the member with the locked row waits, and delays no
   * other.
   */
  #holdBack(member: Member<Request, Answer>): void {
    member.alone = true;
    this.#settings.clock.after(this.#pause(++member.held), () => {
      this.#waiting.push(member);
      this.#dropImpatient("somebody else's transaction holds the row");
      this.#gather();
    });
  }

  #failed(batch: Member<Request, Answer>[], error: unknown): void {
    const unknown = isLimpetError(error, "COMMIT_UNKNOWN");
    if (unknown || isLimpetError(error, "STORE_UNAVAILABLE")) {
      this.#failures++;
      this.#settings.retries.add(1);
      for (const member of batch) member.unknown ||= unknown;
      this.#waiting.unshift(...batch);
      this.#dropImpatient(error.message);
    } else if (batch.length > 1) {
      for (const member of batch) member.alone = true;
      this.#waiting.unshift(...batch);
    } else {
      batch[0]!.caller.reject(batch[0]!.unknown ? unknownOutcome(String(error)) : error);
    }
  }

  #dropImpatient(why: string): void {
    const now = this.#settings.clock.monotonic();
    const { patienceMs } = this.#settings;
    this.#waiting = this.#waiting.filter((member) => {
      member.since = Math.min(member.since, now);
      if (member.since + patienceMs > now && member.era === this.#era) return true;
      member.isOver = true;
      member.caller.reject(member.unknown ? unknownOutcome(why) : nothingChanged(why));
      return false;
    });
    // No request waits: the next one probes the store at once.
    if (this.#waiting.length === 0) this.#failures = 0;
  }
}

function nothingChanged(why: string): LimpetError {
  return new LimpetError("STORE_UNAVAILABLE", `the store did not answer in time; nothing was changed (${why})`);
}

function unknownOutcome(why: string): LimpetError {
  return new LimpetError("COMMIT_UNKNOWN", `an answer of the store was lost; the turn may count or not (${why})`);
}
