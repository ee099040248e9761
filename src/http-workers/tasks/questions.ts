// Queries and update validations for remote workers. A question waits in the memory of the asked process
// until a worker of the run claims and answers it, or the caller's time is over. A claimed query stays with
// its worker. A claimed validation goes to another worker when the first one is silent. Nothing of it is
// durable.
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { StoredRun } from "../../ports/store/workflows.ts";
import { mayContinue, readPin } from "../../workflows/definition/pins.ts";
import type { Wire } from "../../workflows/engine/events.ts";
import { Refused } from "../refusal.ts";
import { type RemoteWorker, remoteCode } from "../worker.ts";

export type QuestionKind = "query" | "update_validation";

interface Asked {
  readonly id: string;
  readonly kind: QuestionKind;
  readonly run: StoredRun;
  readonly name: string;
  readonly input: Wire;
}

/** A question as it was handed out. */
export interface WorkerQuestion extends Asked {
  /** The worker that claimed it. */
  readonly worker: string;
  /** The number of claims: 1 the first time. */
  readonly attempt: number;
  /** The end of the claim, on the wall clock. */
  readonly until: number;
}

export interface QuestionHolder {
  readonly id: string;
  readonly kind: QuestionKind;
  readonly worker: string;
  readonly attempt: number;
}

interface Waiting extends Asked {
  readonly answer: PromiseWithResolvers<Wire>;
  /** The end of the caller's wait. */
  readonly end: number;
  worker: string | undefined;
  attempt: number;
  /** The time from which another worker may claim it, on the monotonic clock. */
  freeAt: number;
}

const MOST = 1_000;
/** A worker that does not answer a validation for this long loses it to another worker. */
const VALIDATION_MS = 5_000;

/** Reasons of rejections, by kind. */
const WORDS = {
  query: {
    full: "query_task_queue_full",
    unclaimed: "query_task_not_claimed",
    unanswered: "query_worker_execution_timeout",
    unknown: "query_task_not_found",
    again: "query_task_not_found",
    notLeased: "query_task_not_leased",
    notOwner: "query_task_not_leased",
    stale: "query_task_not_leased",
  },
  update_validation: {
    full: "update_validation_queue_full",
    unclaimed: "update_validator_worker_lost",
    unanswered: "update_validator_worker_lost",
    unknown: "update_validation_task_not_found",
    again: "duplicate_update_validation_completion",
    notLeased: "update_validation_task_not_leased",
    notOwner: "update_validation_lease_owner_mismatch",
    stale: "stale_update_validation_completion",
  },
} as const;

export class RemoteQuestions {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #waiting = new Map<string, Waiting>();
  /** Recently answered questions. */
  readonly #answered = new Set<string>();
  /** A question may be claimable. */
  asked: () => void = () => {};

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Rejects with `Refused`: by the worker, or when the time is over. */
  async ask(kind: QuestionKind, run: StoredRun, name: string, input: Wire, withinMs: number): Promise<Wire> {
    const words = WORDS[kind];
    if (this.#waiting.size >= MOST) throw new Refused(429, words.full, "too many questions wait for a worker");
    const id = this.#random.id();
    const answer = Promise.withResolvers<Wire>();
    const end = this.#clock.now() + withinMs;
    const question: Waiting = {
      id,
      kind,
      run,
      name,
      input,
      end,
      answer,
      worker: undefined,
      attempt: 0,
      freeAt: Number.POSITIVE_INFINITY,
    };
    this.#waiting.set(id, question);
    const timer = this.#clock.after(withinMs, () => {
      const [reason, problem] =
        question.worker === undefined
          ? [words.unclaimed, "no worker claimed the question in time"]
          : [words.unanswered, `worker ${question.worker} has not answered in time`];
      answer.reject(new Refused(504, reason, problem));
    });
    this.asked();
    try {
      return await answer.promise;
    } finally {
      timer.cancel();
      this.#waiting.delete(id);
    }
  }

  /** The oldest question that this worker can answer. */
  claim(worker: RemoteWorker, kinds: readonly QuestionKind[]): WorkerQuestion | undefined {
    const now = this.#clock.monotonic();
    for (const question of this.#waiting.values()) {
      const isHeld = question.worker !== undefined && now < question.freeAt;
      if (isHeld || !kinds.includes(question.kind)) continue;
      const { queue, type, pinned } = question.run;
      if (queue !== worker.queue || !worker.workflowTypes.includes(type)) continue;
      if (!mayContinue(readPin(pinned), type, remoteCode(worker))) continue;
      question.worker = worker.id;
      question.attempt++;
      const isQuery = question.kind === "query";
      question.freeAt = isQuery ? Number.POSITIVE_INFINITY : now + VALIDATION_MS;
      const { id, kind, run, name, input, attempt, end } = question;
      const until = isQuery ? end : Math.min(end, this.#clock.now() + VALIDATION_MS);
      return { id, kind, run, name, input, worker: worker.id, attempt, until };
    }
    return undefined;
  }

  /** Returns a question whose poll was aborted before the worker read the answer. */
  giveBack({ id, attempt }: WorkerQuestion): void {
    const question = this.#waiting.get(id);
    if (question?.attempt !== attempt) return;
    question.worker = undefined;
    this.asked();
  }

  /** The run of a claimed question. */
  runOf(holder: QuestionHolder): StoredRun {
    return this.#held(holder).run;
  }

  answer(holder: QuestionHolder, result: Wire): void {
    this.#end(holder).answer.resolve(result);
  }

  refuse(holder: QuestionHolder, refusal: Refused): void {
    this.#end(holder).answer.reject(refusal);
  }

  /** A later answer finds the question answered. */
  #end(holder: QuestionHolder): Waiting {
    const question = this.#held(holder);
    this.#waiting.delete(question.id);
    this.#answered.add(question.id);
    for (const oldest of this.#answered) {
      if (this.#answered.size <= MOST) break;
      this.#answered.delete(oldest);
    }
    return question;
  }

  #held({ id, kind, worker, attempt }: QuestionHolder): Waiting {
    const question = this.#waiting.get(id);
    const words = WORDS[kind];
    if (question === undefined || question.kind !== kind) {
      const isAgain = this.#answered.has(id) && words.again !== words.unknown;
      const what = "the question is answered already, or its caller stopped waiting";
      throw isAgain ? new Refused(409, words.again, what) : new Refused(404, words.unknown, what);
    }
    if (question.worker === undefined) throw new Refused(409, words.notLeased, "no worker has claimed this question");
    if (question.worker !== worker) throw new Refused(409, words.notOwner, "another worker has claimed this question");
    if (question.attempt !== attempt) throw new Refused(409, words.stale, "this is not the current attempt");
    return question;
  }
}
