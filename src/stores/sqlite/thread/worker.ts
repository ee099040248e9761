// The thread that holds the database. It serves requests in order, urgent ones first, and may block: on the
// disk, and on the lock of another process. No request may end the thread; it responds to a failed request
// with an error.
//
// Writes that have arrived by the time one is done join its transaction, so that they share one flush to the
// disk. The event loop sends batches early and often, and this thread combines them into as few transactions
// as the disk can sustain.
import type { DatabaseSync } from "node:sqlite";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { invariant } from "../../../kernel/errors.ts";
import { LIMITS } from "../../../kernel/limits.ts";
import { openDatabase } from "../database.ts";
import { toLimpetError } from "../sqlite-errors.ts";
import { Inbox } from "./inbox.ts";
import { prepareStatements, type Statements } from "./statements.ts";
import type { Transactions } from "./transactions.ts";
import {
  type Answer,
  isAmbiguous,
  mayRepeat,
  type ThreadFailure,
  type ThreadRequest,
  verbOf,
  type WorkerStart,
} from "./verbs.ts";

invariant(parentPort !== null, "this file runs in a worker thread");
const port = parentPort;
const start = workerData as WorkerStart;

const failure = (error: unknown): ThreadFailure => {
  const { code, message } = toLimpetError(error, start.file);
  return { code, message };
};

const respond = (answer: Answer): void => port.postMessage(answer);

class StoreThreadServer {
  readonly #db: DatabaseSync;
  readonly #transactions: Transactions;
  readonly #statements: Statements;
  readonly #inbox = new Inbox(nextRequest);

  constructor(db: DatabaseSync, transactions: Transactions) {
    this.#db = db;
    this.#transactions = transactions;
    this.#statements = prepareStatements(db);
  }

  /** Serves a request and all that have arrived meanwhile. */
  serve(request: ThreadRequest): void {
    this.#inbox.put(request);
    for (let next = this.#inbox.next(); next !== undefined; next = this.#inbox.next()) {
      const one = next;
      switch (verbOf(one).kind) {
        case "write":
          this.#write(one);
          break;
        case "read":
          this.#attempt(one, () => this.#transactions.read(() => this.#run(one)));
          break;
        case "close":
          this.#attempt(one, () => this.#run(one));
          port.close();
          return;
      }
    }
  }

  /** Serves a write and the writes that directly follow it. */
  #write(first: ThreadRequest): void {
    const joined = [first];
    try {
      const values = this.#transaction(joined, (values) => {
        let rows = joined.reduce((sum, request, i) => sum + rowsOf(request, values[i]), 0);
        for (;;) {
          const received = this.#inbox.nextWrite(rows >= LIMITS.batchSize);
          if (received === undefined) return;
          joined.push(received);
          const value = this.#run(received);
          values.push(value);
          rows += rowsOf(received, value);
        }
      });
      for (const [i, value] of values.entries()) respond({ value, urgent: verbOf(joined[i]!).isUrgent });
    } catch (error) {
      // Each on its own, so that no request fails because of another one.
      for (const request of joined) {
        if (joined.length === 1 || !mayRepeat(request, error)) this.#refuse(request, error);
        else this.#attempt(request, () => this.#transaction([request], () => {})[0]);
      }
    }
  }

  #transaction(requests: readonly ThreadRequest[], more: (values: unknown[]) => void): unknown[] {
    // More requests may join meanwhile.
    const uncertain = () =>
      requests.some((request) => isAmbiguous(verbOf(request))) ? "COMMIT_UNKNOWN" : "STORE_UNAVAILABLE";
    return this.#transactions.write(uncertain, () => {
      const values = requests.map((request) => this.#run(request));
      more(values);
      return values;
    });
  }

  #run(request: ThreadRequest): unknown {
    return verbOf(request).run(this.#statements, ...(request.args as never[]));
  }

  #attempt(request: ThreadRequest, work: () => unknown): void {
    try {
      const value = work();
      respond({ value, urgent: verbOf(request).isUrgent });
    } catch (error) {
      this.#refuse(request, error);
    }
  }

  #refuse(request: ThreadRequest, error: unknown): void {
    // A transaction that could not be rolled back leaves an unusable connection: start over with a new one.
    if (this.#db.isOpen && this.#db.isTransaction) {
      respond({ error: failure(error), fatal: true });
      process.exit();
    }
    respond({ error: failure(error), urgent: verbOf(request).isUrgent });
  }
}

const rowsOf = (request: ThreadRequest, value: unknown): number =>
  verbOf(request).rows(value, ...(request.args as never[]));

try {
  const { db, transactions } = openDatabase(start);
  const server = new StoreThreadServer(db, transactions);
  port.on("message", (request: ThreadRequest) => server.serve(request));
} catch (error) {
  respond({ error: failure(error), fatal: true });
}

/**
 * The next request that has already arrived. Deno cannot read it from the port of a thread: there each
 * request is its own event.
 */
function nextRequest(): ThreadRequest | undefined {
  return process.versions.deno === undefined
    ? (receiveMessageOnPort(port)?.message as ThreadRequest | undefined)
    : undefined;
}
