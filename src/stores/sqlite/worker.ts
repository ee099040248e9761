// The thread that holds the database. It answers questions in order, and may block: on the disk, and on the lock of another
// process. It must never die of a question; what it cannot do, it answers with an error.
//
// Writes that have arrived by the time one is done join its transaction, so that they share one flush to the disk. The event
// loop sends what it has early and often, and this end makes of it as few transactions as the disk can keep up with.
import type { DatabaseSync } from "node:sqlite";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { invariant, type LimpetError } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import { ActorStatements } from "./actor-statements.ts";
import { openDatabase } from "./database.ts";
import { ListingStatements } from "./listing-statements.ts";
import { type Answer, COMMIT_NUMBERS, type Question, TAKE_STRINGS, type WorkerStart } from "./messages.ts";
import { toLimpetError } from "./sqlite-errors.ts";
import type { Transactions } from "./transactions.ts";

invariant(parentPort !== null, "this file runs in a worker thread");
const port = parentPort;
const start = workerData as WorkerStart;

type Writing = Extract<Question, { kind: "take" | "commit" }>;
type Reading = Exclude<Question, Writing>;

const isWriting = (question: Question): question is Writing => question.kind === "take" || question.kind === "commit";

const rowsOf = (question: Writing): number =>
  question.kind === "take" ? question.strings.length / TAKE_STRINGS : question.numbers.length / COMMIT_NUMBERS;

const failed = (error: unknown, fatal: boolean): Answer => {
  const { code, message }: LimpetError = toLimpetError(error, start.file);
  return { error: { code, message }, fatal };
};

class Desk {
  readonly #db: DatabaseSync;
  readonly #transactions: Transactions;
  readonly #actors: ActorStatements;
  readonly #listing: ListingStatements;

  constructor(db: DatabaseSync, transactions: Transactions) {
    this.#db = db;
    this.#transactions = transactions;
    this.#actors = new ActorStatements(db);
    this.#listing = new ListingStatements(db);
  }

  serve(question: Question): void {
    const next = isWriting(question) ? this.#write(question) : question;
    if (next === undefined) return;
    this.#attempt(() => port.postMessage({ value: this.#read(next) } satisfies Answer));
    if (next.kind === "close") port.close();
  }

  /** Answers a write and those that follow close behind it. Returns what came next and is no write. */
  #write(first: Writing): Reading | undefined {
    const joined = [first];
    let next: Reading | undefined;
    try {
      const values = this.#transaction(joined, (values) => {
        let rows = joined.reduce((sum, question) => sum + rowsOf(question), 0);
        while (next === undefined && rows < LIMITS.batchSize) {
          const received = receiveMessageOnPort(port)?.message as Question | undefined;
          if (received === undefined) break;
          if (isWriting(received)) {
            joined.push(received);
            values.push(this.#apply(received));
            rows += rowsOf(received);
          } else {
            next = received;
          }
        }
      });
      for (const value of values) port.postMessage({ value } satisfies Answer);
    } catch (error) {
      // Each on its own, so that nobody fails for what another one brought.
      if (joined.length === 1) this.#refuse(error);
      else for (const question of joined) this.#attempt(() => this.#alone(question));
    }
    return next;
  }

  #alone(question: Writing): void {
    const [value] = this.#transaction([question], () => {});
    port.postMessage({ value } satisfies Answer);
  }

  #transaction(questions: readonly Writing[], more: (values: unknown[]) => void): unknown[] {
    const uncertain = questions.some(({ kind }) => kind === "commit") ? "COMMIT_UNKNOWN" : "STORE_UNAVAILABLE";
    return this.#transactions.write(uncertain, () => {
      const values = questions.map((question) => this.#apply(question));
      more(values);
      return values;
    });
  }

  #apply(question: Writing): unknown {
    if (question.kind === "take") return this.#actors.take(question.strings, Date.now());
    return this.#actors.commit(question.numbers, question.strings, Date.now());
  }

  #read(question: Reading): unknown {
    switch (question.kind) {
      case "list":
        return this.#transactions.read(() => this.#listing.list(question.query));
      case "find":
        return this.#transactions.read(() => this.#listing.find(question.key));
      case "ping":
        return this.#transactions.read(() => this.#db.exec("SELECT 1 FROM actors LIMIT 1"));
      case "close":
        // The last connection to the file copies the log into it.
        return this.#db.close();
    }
  }

  #attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#refuse(error);
    }
  }

  #refuse(error: unknown): void {
    // A transaction that could not even be rolled back leaves a connection nobody can use: start over with a new one.
    const fatal = this.#db.isOpen && this.#db.isTransaction;
    port.postMessage(failed(error, fatal));
    if (fatal) process.exit();
  }
}

try {
  const { db, transactions } = openDatabase(start);
  const desk = new Desk(db, transactions);
  port.on("message", (question: Question) => desk.serve(question));
} catch (error) {
  port.postMessage(failed(error, true));
}
