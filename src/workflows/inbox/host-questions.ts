// Sends queries to another process that has the code of a run. A question is a reminder row that only the
// addressed process delivers; its answer is a row that the asking process polls. Neither changes the run: not
// its task, its inbox or its history.
//
// The answer row is written before the question, and is due some time after the asking process gives up. A
// process that dies in between leaves no rows: when the answer row is due, any process deletes both.
import { backoffMs } from "../../kernel/backoff.ts";
import { LimpetError } from "../../kernel/errors.ts";
import { deserializeError, type SerializedError, serializeError } from "../../kernel/serialized-error.ts";
import { toWire } from "../../kernel/values.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import type { ReminderWriter } from "../../ports/reminder-writer.ts";
import type { ReminderKey, Reminders, ReminderWrite } from "../../ports/store/reminders.ts";
import { ANSWER_TYPE, askType } from "../definition/messages.ts";
import type { Wire } from "../engine/events.ts";
import { checkPayload } from "../engine/payload-limits.ts";
import { Waiting } from "./waiting.ts";

export interface HostQuestionsDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Pick<Reminders, "get" | "watch">;
  readonly writer: ReminderWriter;
  readonly namespace: string;
  /** The store's clock. */
  now(): number;
}

export interface HostQuestion {
  readonly id: string;
  /** The addressed process. */
  readonly worker: string;
  readonly workflowId: string;
  readonly runId: string;
  readonly name: string;
  readonly input: unknown;
  /** The end of the wait for an answer, on the store's clock. */
  readonly until: number;
}

type Answer =
  | { readonly kind: "answered"; readonly result: Wire }
  | { readonly kind: "failed"; readonly error: SerializedError };

/** The data of an answer row. It always names its question, which may have to be deleted with it. */
type AnswerRow = Pick<HostQuestion, "id" | "worker"> & ({ readonly kind: "asked" } | Answer);

/** The time for which an unread answer is kept. */
const KEPT_MS = 30_000;
/** The polling interval where the store sends no notifications. */
const FIRST_LOOK_MS = 5;
const LONGEST_LOOK_MS = 200;
/** Reading is cheap, and the delivery of a question does not fail. */
const PERSISTENT = { attempts: Number.MAX_SAFE_INTEGER, pause: "1s", longestPause: "1m" } as const;

export class HostQuestions {
  readonly #deps: HostQuestionsDeps;
  readonly #waiting: Waiting;
  #asking = 0;
  #stopped: LimpetError | undefined;
  #unwatch: (() => void) | undefined;

  constructor(deps: HostQuestionsDeps) {
    this.#deps = deps;
    this.#waiting = new Waiting(deps.clock, LONGEST_LOOK_MS);
  }

  /** Returns the answer of that process, or throws the error of its code. Undefined: no answer in time. */
  async ask(
    worker: string,
    run: { readonly workflowId: string; readonly runId: string },
    name: string,
    input: Wire,
    withinMs: number,
  ): Promise<{ readonly result: Wire } | undefined> {
    checkPayload(input, "the input");
    const { random, writer } = this.#deps;
    const id = random.id();
    const until = Math.ceil(this.#deps.now() + withinMs);
    const { workflowId, runId } = run;
    const asked: HostQuestion = { id, worker, workflowId, runId, name, input, until };
    this.#listen(1);
    try {
      await writer.write(this.#row(this.#answerKey(id), until + KEPT_MS, { kind: "asked", id, worker }));
      await writer.write(this.#row(this.#askKey(worker, id), undefined, asked));
      return await this.#answerTo(id, withinMs);
    } finally {
      this.#listen(-1);
      // If this write is lost, the answer row deletes both when it is due.
      void this.#forget(worker, id).catch(() => {});
    }
  }

  /** Ends all waits. */
  stop(reason: LimpetError): void {
    this.#stopped = reason;
    this.#waiting.close();
  }

  async #answerTo(id: string, withinMs: number): Promise<{ readonly result: Wire } | undefined> {
    let looks = 0;
    const answer = await this.#waiting.until(withinMs, new AbortController().signal, async () => {
      const stored = await this.#deps.store.get(this.#answerKey(id));
      const row = JSON.parse(stored?.data ?? "null") as AnswerRow | null;
      const nextMs = backoffMs(++looks, FIRST_LOOK_MS, LONGEST_LOOK_MS);
      return { found: row === null || row.kind === "asked" ? undefined : row, nextMs };
    });
    if (answer === undefined && this.#stopped !== undefined) throw this.#stopped;
    if (answer?.kind === "failed") {
      throw deserializeError(answer.error) ?? new LimpetError("QUERY_FAILED", "what it answered cannot be read");
    }
    return answer;
  }

  /** Answers a question to this process. `data`: of its reminder. */
  async answer(data: unknown, answerOf: (question: HostQuestion) => Promise<unknown>): Promise<void> {
    const question = data as HostQuestion;
    if (this.#deps.now() >= question.until) return;
    const { id, worker, until } = question;
    const row = { id, worker, ...(await answerOf(question).then(answered, failed)) };
    await this.#deps.writer.write(this.#row(this.#answerKey(id), until + KEPT_MS, row));
  }

  /**
   * Deletes a question whose answer was not read or not written. `data`: of the answer's reminder. The
   * process that answered may have died before it completed the question.
   */
  async outlived(data: unknown): Promise<void> {
    const { worker, id } = data as AnswerRow;
    await this.#deps.writer.write({ kind: "cancel", key: this.#askKey(worker, id) });
  }

  #listen(more: 1 | -1): void {
    this.#asking += more;
    const { store, namespace } = this.#deps;
    if (this.#asking > 0) this.#unwatch ??= store.watch(namespace, () => this.#waiting.nudge());
    else this.#unwatch = this.#unwatch?.() as undefined;
  }

  #askKey(worker: string, id: string): ReminderKey {
    return { namespace: this.#deps.namespace, type: askType(worker), id, name: "question" };
  }

  #answerKey(id: string): ReminderKey {
    return { namespace: this.#deps.namespace, type: ANSWER_TYPE, id, name: "answer" };
  }

  #row(key: ReminderKey, at: number | undefined, data: HostQuestion | AnswerRow): ReminderWrite {
    const due = at === undefined ? 0 : new Date(at);
    const write = this.#deps.writer.set(key, { due, onFailure: PERSISTENT });
    // The data is in JSON-ready form already.
    return write.kind === "set" ? { ...write, content: { ...write.content, data: JSON.stringify(data) } } : write;
  }

  async #forget(worker: string, id: string): Promise<void> {
    const { writer } = this.#deps;
    const keys = [this.#askKey(worker, id), this.#answerKey(id)];
    await Promise.all(keys.map((key) => writer.write({ kind: "cancel", key })));
  }
}

function answered(value: unknown): Answer {
  try {
    const result = toWire(value, "the result", "RESULT_INVALID");
    checkPayload(result, "the result");
    return { kind: "answered", result };
  } catch (error) {
    return failed(error);
  }
}

const failed = (thrown: unknown): Answer => ({ kind: "failed", error: serializeError(thrown) });
