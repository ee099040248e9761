// The thread that holds the database. It answers one question after the other, in order, and may block: on the disk,
// and on the lock of another process. It must never die of a question; what it cannot do, it answers with an error.
import type { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { invariant, type LimpetError } from "../../kernel/errors.ts";
import { ActorStatements } from "./actor-statements.ts";
import { openDatabase } from "./database.ts";
import { ListingStatements } from "./listing-statements.ts";
import type { Answer, Question, WorkerStart } from "./messages.ts";
import { toLimpetError } from "./sqlite-errors.ts";
import type { Transactions } from "./transactions.ts";

invariant(parentPort !== null, "this file runs in a worker thread");
const port = parentPort;
const start = workerData as WorkerStart;

const failed = (error: unknown, fatal: boolean): Answer => {
  const { code, message }: LimpetError = toLimpetError(error, start.file);
  return { error: { code, message }, fatal };
};

try {
  const { db, transactions } = openDatabase(start);
  const answer = answerer(db, transactions);
  port.on("message", (question: Question) => {
    try {
      port.postMessage({ value: answer(question) } satisfies Answer);
    } catch (error) {
      // A transaction that could not even be rolled back leaves a connection nobody can use: start over with a new one.
      const fatal = db.isOpen && db.isTransaction;
      port.postMessage(failed(error, fatal));
      if (fatal) process.exit();
    }
    if (question.kind === "close") port.close();
  });
} catch (error) {
  port.postMessage(failed(error, true));
}

function answerer(db: DatabaseSync, transactions: Transactions): (question: Question) => unknown {
  const actors = new ActorStatements(db);
  const listing = new ListingStatements(db);
  return (question) => {
    switch (question.kind) {
      case "take":
        return transactions.write("STORE_UNAVAILABLE", () => actors.take(question.strings, Date.now()));
      case "commit":
        return transactions.write("COMMIT_UNKNOWN", () =>
          actors.commit(question.numbers, question.strings, Date.now()),
        );
      case "list":
        return transactions.read(() => listing.list(question.query));
      case "find":
        return transactions.read(() => listing.find(question.key));
      case "ping":
        return transactions.read(() => db.exec("SELECT 1 FROM actors LIMIT 1"));
      case "close":
        // The last connection to the file copies the log into it.
        return db.close();
    }
  };
}
