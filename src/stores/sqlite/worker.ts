// The thread that holds the database. It answers questions in order, those of schedulers first, and may block: on the disk,
// and on the lock of another process. It must never die of a question; what it cannot do, it answers with an error.
//
// Writes that have arrived by the time one is done join its transaction, so that they share one flush to the disk. The event
// loop sends what it has early and often, and this end makes of it as few transactions as the disk can keep up with.
import type { DatabaseSync } from "node:sqlite";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { invariant } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import { ActorStatements } from "./actor-statements.ts";
import { CoordinationStatements } from "./coordination-statements.ts";
import { openDatabase } from "./database.ts";
import { Inbox } from "./inbox.ts";
import { ListingStatements } from "./listing-statements.ts";
import {
  type Answer,
  COMMIT_NUMBERS,
  type Failure,
  isUrgent,
  isWrite,
  type Question,
  TAKE_STRINGS,
  type WorkerStart,
  type Write,
} from "./messages.ts";
import { toLimpetError } from "./sqlite-errors.ts";
import type { Transactions } from "./transactions.ts";

invariant(parentPort !== null, "this file runs in a worker thread");
const port = parentPort;
const start = workerData as WorkerStart;

type Read = Exclude<Question, Write>;

function rowsOf(question: Write): number {
  if (question.kind === "take") return question.strings.length / TAKE_STRINGS;
  if (question.kind === "note") return question.changes.length;
  return question.kind === "commit" ? question.numbers.length / COMMIT_NUMBERS : 1;
}

const failure = (error: unknown): Failure => {
  const { code, message } = toLimpetError(error, start.file);
  return { code, message };
};

const say = (answer: Answer): void => port.postMessage(answer);

class Desk {
  readonly #db: DatabaseSync;
  readonly #transactions: Transactions;
  readonly #actors: ActorStatements;
  readonly #listing: ListingStatements;
  readonly #coordination: CoordinationStatements;
  readonly #inbox = new Inbox(() => receiveMessageOnPort(port)?.message as Question | undefined);

  constructor(db: DatabaseSync, transactions: Transactions) {
    this.#db = db;
    this.#transactions = transactions;
    this.#actors = new ActorStatements(db);
    this.#listing = new ListingStatements(db);
    this.#coordination = new CoordinationStatements(db);
  }

  /** Answers a question and all that have come meanwhile. */
  serve(question: Question): void {
    this.#inbox.put(question);
    for (let next = this.#inbox.next(); next !== undefined; next = this.#inbox.next()) {
      if (isWrite(next)) this.#write(next);
      else this.#attempt(next, () => this.#read(next as Read));
      if (next.kind !== "close") continue;
      port.close();
      return;
    }
  }

  /** Answers a write and those that follow close behind it. */
  #write(first: Write): void {
    const joined = [first];
    try {
      const values = this.#transaction(joined, (values) => {
        let rows = joined.reduce((sum, question) => sum + rowsOf(question), 0);
        for (;;) {
          const received = this.#inbox.nextWrite(rows >= LIMITS.batchSize);
          if (received === undefined) return;
          joined.push(received);
          values.push(this.#apply(received));
          rows += rowsOf(received);
        }
      });
      for (const [i, value] of values.entries()) say({ value, urgent: isUrgent(joined[i]!) });
    } catch (error) {
      // Each on its own, so that nobody fails for what another one brought. All of them may be done twice.
      if (joined.length === 1) this.#refuse(first, error);
      else for (const question of joined) this.#attempt(question, () => this.#transaction([question], () => {})[0]);
    }
  }

  #transaction(questions: readonly Write[], more: (values: unknown[]) => void): unknown[] {
    const uncertain = questions.some(({ kind }) => kind === "commit") ? "COMMIT_UNKNOWN" : "STORE_UNAVAILABLE";
    return this.#transactions.write(uncertain, () => {
      const values = questions.map((question) => this.#apply(question));
      more(values);
      return values;
    });
  }

  #apply(question: Write): unknown {
    switch (question.kind) {
      case "take":
        return this.#actors.take(question.strings, Date.now());
      case "commit":
        return this.#actors.commit(question.numbers, question.strings, Date.now());
      case "campaign":
        return this.#coordination.campaign(question.candidate, question.dead, Date.now());
      case "resign":
        return this.#coordination.resign(question.incarnation);
      case "note":
        return this.#coordination.note(question.term, question.changes);
      case "leave":
        return this.#coordination.leave(question.incarnations);
    }
  }

  #read(question: Read): unknown {
    switch (question.kind) {
      case "members":
        return this.#transactions.read(() => this.#coordination.members());
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

  #attempt(question: Question, work: () => unknown): void {
    try {
      const value = work();
      say({ value, urgent: isUrgent(question) });
    } catch (error) {
      this.#refuse(question, error);
    }
  }

  #refuse(question: Question, error: unknown): void {
    // A transaction that could not even be rolled back leaves a connection nobody can use: start over with a new one.
    if (this.#db.isOpen && this.#db.isTransaction) {
      say({ error: failure(error), fatal: true });
      process.exit();
    }
    say({ error: failure(error), urgent: isUrgent(question) });
  }
}

try {
  const { db, transactions } = openDatabase(start);
  const desk = new Desk(db, transactions);
  port.on("message", (question: Question) => desk.serve(question));
} catch (error) {
  say({ error: failure(error), fatal: true });
}
