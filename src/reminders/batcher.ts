// Many requests, one question to the store: while one batch is under way the next one gathers. When the store does not answer, a batch
// is sent again until the patience of each request has run out; everything asked here may be asked twice (ports/reminders.ts).
import { isLimpetError, LimpetError } from "../kernel/errors.ts";
import type { Clock } from "../ports/clock.ts";

const LARGEST = 1_000;
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1_000;
/** So many may wait; whoever comes then is told. */
const MOST = 100_000;

interface Waiting<Request, Answer> {
  readonly request: Request;
  /** On the monotonic clock: not worth asking after this. */
  readonly until: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

export interface BatcherNeeds<Request, Answer> {
  readonly clock: Clock;
  send(batch: readonly Request[]): Promise<readonly Answer[]>;
  /** Two of the same are never in one batch. */
  keyOf?(request: Request): string;
}

export class Batcher<Request, Answer> {
  readonly #needs: BatcherNeeds<Request, Answer>;
  #waiting: Waiting<Request, Answer>[] = [];
  #isBusy = false;

  constructor(needs: BatcherNeeds<Request, Answer>) {
    this.#needs = needs;
  }

  /** `until`: how long it is worth trying, on the monotonic clock. */
  ask(request: Request, until: number): Promise<Answer> {
    if (this.#waiting.length >= MOST) {
      return Promise.reject(new LimpetError("STORE_UNAVAILABLE", `${MOST} changes of reminders wait for the store`));
    }
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    this.#waiting.push({ request, until, resolve, reject });
    if (!this.#isBusy) {
      this.#isBusy = true;
      // What comes in the same moment travels together.
      this.#needs.clock.soon(() => void this.#work());
    }
    return promise;
  }

  async #work(): Promise<void> {
    for (let failures = 0; this.#waiting.length > 0; ) {
      const batch = this.#next();
      try {
        const answers = await this.#needs.send(batch.map(({ request }) => request));
        failures = 0;
        for (const [i, { resolve }] of batch.entries()) resolve(answers[i]!);
      } catch (error) {
        await this.#failed(batch, error, failures++);
      }
    }
    this.#isBusy = false;
  }

  /** The oldest, each key once. */
  #next(): Waiting<Request, Answer>[] {
    const { keyOf } = this.#needs;
    if (keyOf === undefined) return this.#waiting.splice(0, LARGEST);
    const keys = new Set<string>();
    const batch: Waiting<Request, Answer>[] = [];
    const rest: Waiting<Request, Answer>[] = [];
    for (const waiting of this.#waiting) {
      const key = keyOf(waiting.request);
      if (batch.length < LARGEST && !keys.has(key)) batch.push(waiting);
      else rest.push(waiting);
      // One that has to wait keeps those behind it waiting, too.
      keys.add(key);
    }
    this.#waiting = rest;
    return batch;
  }

  async #failed(batch: readonly Waiting<Request, Answer>[], error: unknown, failures: number): Promise<void> {
    const now = this.#needs.clock.monotonic();
    const isHopeless = !isLimpetError(error, "STORE_UNAVAILABLE") && !isLimpetError(error, "COMMIT_UNKNOWN");
    // One that cannot be done is not to spoil the others: each goes alone.
    if (isHopeless && batch.length > 1) {
      for (const one of batch) await this.#alone(one);
      return;
    }
    const left = isHopeless ? [] : batch.filter(({ until }) => now < until);
    for (const one of batch) if (!left.includes(one)) one.reject(error);
    this.#waiting = [...left, ...this.#waiting];
    if (left.length === 0) return;
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS);
    await new Promise<void>((resolve) => this.#needs.clock.after(pause, resolve));
  }

  async #alone({ request, resolve, reject }: Waiting<Request, Answer>): Promise<void> {
    try {
      const [answer] = await this.#needs.send([request]);
      resolve(answer!);
    } catch (error) {
      reject(error);
    }
  }
}
