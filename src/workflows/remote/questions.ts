// What runs whose code is elsewhere are asked: queries, and whether an update is fine. A question waits in the memory of the process that
// was asked until one of the run's workers takes it and answers, or the time of whoever asks is over. Nothing of it is durable.
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { StoredRun } from "../../ports/workflows.ts";
import type { Wire } from "../events.ts";
import { Refused } from "./refusal.ts";
import type { RemoteWorker } from "./worker.ts";

export type QuestionKind = "query" | "update_validation";

export interface Question {
  readonly id: string;
  readonly kind: QuestionKind;
  readonly run: StoredRun;
  readonly name: string;
  readonly input: Wire;
  /** Who takes it has it until then, by the wall clock. */
  readonly until: number;
  /** Whoever has taken it. */
  worker: string | undefined;
}

export interface QuestionHolder {
  readonly id: string;
  readonly kind: QuestionKind;
  readonly worker: string;
  readonly attempt: number;
}

interface Waiting extends Question {
  readonly answer: PromiseWithResolvers<Wire>;
}

/** A question is handed out once. */
export const QUESTION_ATTEMPT = 1;
const MOST = 1_000;

/** What is said of each kind. */
const WORDS = {
  query: {
    full: "query_task_queue_full",
    unclaimed: "query_task_not_claimed",
    unanswered: "query_worker_execution_timeout",
    unknown: "query_task_not_found",
    notLeased: "query_task_not_leased",
    notOwner: "query_task_not_leased",
    stale: "query_task_not_leased",
  },
  update_validation: {
    full: "update_validation_queue_full",
    unclaimed: "update_validator_worker_lost",
    unanswered: "update_validator_worker_lost",
    unknown: "update_validation_task_not_found",
    notLeased: "update_validation_task_not_leased",
    notOwner: "update_validation_lease_owner_mismatch",
    stale: "stale_update_validation_completion",
  },
} as const;

export class RemoteQuestions {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #waiting = new Map<string, Waiting>();
  /** Somebody may want to take one. */
  asked: () => void = () => {};

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Rejects with a refusal: of the worker, or when the time is over. */
  async ask(kind: QuestionKind, run: StoredRun, name: string, input: Wire, withinMs: number): Promise<Wire> {
    const words = WORDS[kind];
    if (this.#waiting.size >= MOST) throw new Refused(429, words.full, "too many questions wait for a worker");
    const id = this.#random.id();
    const answer = Promise.withResolvers<Wire>();
    const until = this.#clock.now() + withinMs;
    const question: Waiting = { id, kind, run, name, input, until, worker: undefined, answer };
    this.#waiting.set(id, question);
    const timer = this.#clock.after(withinMs, () => {
      const [reason, said] =
        question.worker === undefined
          ? [words.unclaimed, "no worker has taken the question in time"]
          : [words.unanswered, `worker ${question.worker} has not answered in time`];
      answer.reject(new Refused(504, reason, said));
    });
    this.asked();
    try {
      return await answer.promise;
    } finally {
      timer.cancel();
      this.#waiting.delete(id);
    }
  }

  /** The oldest one that this worker can answer. */
  claim(worker: RemoteWorker, kinds: readonly QuestionKind[]): Question | undefined {
    for (const question of this.#waiting.values()) {
      if (question.worker !== undefined || !kinds.includes(question.kind)) continue;
      const { queue, type, build } = question.run;
      if (queue !== worker.queue || !worker.workflowTypes.includes(type)) continue;
      if (build !== undefined && build !== worker.build) continue;
      question.worker = worker.id;
      return question;
    }
    return undefined;
  }

  /** Nobody reads the answer that it was in. */
  giveBack(question: Question): void {
    question.worker = undefined;
    this.asked();
  }

  answer(holder: QuestionHolder, result: Wire): void {
    this.#held(holder).answer.resolve(result);
  }

  refuse(holder: QuestionHolder, refusal: Refused): void {
    this.#held(holder).answer.reject(refusal);
  }

  #held({ id, kind, worker, attempt }: QuestionHolder): Waiting {
    const question = this.#waiting.get(id);
    const words = WORDS[kind];
    if (question === undefined || question.kind !== kind) {
      throw new Refused(404, words.unknown, "the question is answered already, or nobody waits for it any more");
    }
    if (question.worker === undefined) throw new Refused(409, words.notLeased, "nobody has taken this question");
    if (question.worker !== worker) throw new Refused(409, words.notOwner, "another worker has taken this question");
    if (attempt !== QUESTION_ATTEMPT) throw new Refused(409, words.stale, "this is not the attempt that is under way");
    // What is said of it later finds it answered.
    this.#waiting.delete(id);
    return question;
  }
}
