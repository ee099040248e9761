// The connections of one store. A statement runs in its own transaction on any free connection; a few run
// together in one transaction. A connection that behaves unexpectedly is destroyed, and a new one is opened
// on demand. So the store recovers when the server does.
import { Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { invariant, LimpetError } from "../../../kernel/errors.ts";
import { faultOf, StoreFault, storeFault } from "./faults.ts";
import { fitsDriver, PreparedQuery } from "./prepared-query.ts";
import { holdSession, type SessionDriver } from "./session.ts";
import type { PostgresSettings } from "./settings.ts";
import { BRIEFLY_MS } from "./while-held.ts";

export interface Statement {
  /** Prepared once per connection under this name. */
  readonly name: string;
  readonly text: string;
}

export type Row = readonly unknown[];

/**
 * `doubtful`: the server may have applied the statement when the response is lost, and the caller must get a
 * matching error.
 */
export type Use = "harmless" | "doubtful";

/** Runs statements, each in a transaction of its own or all of them in one. Rejects with a StoreFault. */
export interface Runner {
  run(statement: Statement, values: unknown[], use: Use): Promise<Row[]>;
}

/** Attempts of a statement that lost a conflict; each is rolled back before the next. */
const CONFLICT_TRIES = 5;
const BEGIN = `BEGIN; SET LOCAL lock_timeout = ${BRIEFLY_MS}`;
const IDLE_MS = 60_000;
const CLOSE_MS = 1_000;
/** Connections of a driver whose internals are not as PreparedQuery needs them. */
const unfit = new WeakSet<pg.ClientBase>();

/** The server truncates longer names of prepared statements, and two equal truncated names would clash. */
const LONGEST_NAME = 63;

export class Connections implements Runner {
  readonly #settings: PostgresSettings;
  readonly #pool: pg.Pool;
  readonly #sockets = new Set<Socket>();
  readonly #inProgress = new Set<Promise<unknown>>();
  /**
   * Free connections, the latest used last. The store keeps them borrowed: borrowing from the pool costs more
   * than a short statement.
   */
  readonly #free: pg.PoolClient[] = [];
  /** Number of connections that stayed free since the last check: all of them are surplus. */
  #spare = 0;
  #looking: NodeJS.Timeout | undefined;
  #closing: Promise<void> | undefined;
  #isUnfit = false;

  /** `driver`: how to connect; `max`: the largest number of connections. */
  constructor(settings: PostgresSettings, driver: SessionDriver, max: number) {
    this.#settings = settings;
    this.#pool = new pg.Pool({
      ...driver,
      max,
      idleTimeoutMillis: IDLE_MS,
      stream: () => this.#socket(),
      onConnect: (client: pg.ClientBase) => this.#check(client, driver),
    } as pg.PoolConfig);
    // Without these two listeners, a connection that dies idle or in use would end the process.
    this.#pool.on("error", (error) => this.#lost(error));
    this.#pool.on("connect", (client) => client.on("error", (error) => this.#broke(client as pg.PoolClient, error)));
  }

  /** Adds `work` to the operations that `close` waits for. Rejects when the store is closed. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw new LimpetError("STORE_UNAVAILABLE", "the store is closed");
    const running = work();
    this.#inProgress.add(running);
    try {
      return await running;
    } finally {
      this.#inProgress.delete(running);
    }
  }

  /**
   * Runs one statement, and retries it after a conflict with another transaction. Rejects with a StoreFault.
   */
  async run(statement: Statement, values: unknown[], use: Use): Promise<Row[]> {
    invariant(statement.name.length <= LONGEST_NAME, "the server does not cut the name of a statement");
    for (let attempt = 1; ; attempt++) {
      const client = this.#free.pop() ?? (await this.#connect(use));
      try {
        const rows = await answerOf(client, statement, values);
        this.#putBack(client, false);
        return rows;
      } catch (error) {
        const fault = faultOf(error, "statement");
        this.#putBack(client, fault.broken);
        if (fault.kind !== "conflict" || attempt >= CONFLICT_TRIES) {
          throw storeFault(fault, use, this.#settings.location);
        }
      }
      await pause(Math.random() * 4 * 2 ** attempt);
    }
  }

  /**
   * Runs statements in one transaction, and retries all of it after a conflict. Each statement sees the data
   * committed before it began. Locks are waited for only briefly (while-held.ts): a transaction of several
   * steps locks rows in no fixed order.
   */
  async transaction<T>(work: (runner: Runner) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#together(work);
      } catch (error) {
        if ((error as StoreFault).kind !== "conflict" || attempt >= CONFLICT_TRIES) throw error;
        await pause(Math.random() * 4 * 2 ** attempt);
      }
    }
  }

  async #together<T>(work: (runner: Runner) => Promise<T>): Promise<T> {
    const client = this.#free.pop() ?? (await this.#connect("doubtful"));
    let isBroken = false;
    // Before COMMIT is sent, nothing can have been applied.
    const ask = async <Answer>(asking: Promise<Answer>, use: Use): Promise<Answer> => {
      try {
        return await asking;
      } catch (error) {
        const fault = faultOf(error, "statement");
        isBroken ||= fault.broken;
        throw storeFault(fault, use, this.#settings.location);
      }
    };
    try {
      await ask(client.query(BEGIN), "harmless");
      const done = await work({ run: (statement, values) => ask(answerOf(client, statement, values), "harmless") });
      await ask(client.query("COMMIT"), "doubtful");
      return done;
    } catch (error) {
      if (!isBroken) await ask(client.query("ROLLBACK"), "harmless").catch(() => undefined);
      throw error;
    } finally {
      this.#putBack(client, isBroken);
    }
  }

  /** Runs before the first statement of a connection. */
  async #check(client: pg.ClientBase, driver: SessionDriver): Promise<void> {
    await holdSession(client, driver, this.#settings.location);
    if (fitsDriver(client)) return;
    unfit.add(client);
    if (this.#isUnfit) return;
    this.#isUnfit = true;
    this.#settings.log.warn("store.driver-unknown", {
      reason: "prepared statements use the slower public API of the driver",
    });
  }

  #connect(use: Use): Promise<pg.PoolClient> {
    return this.#pool.connect().catch((error: unknown) => {
      if (error instanceof StoreFault) throw error;
      throw storeFault(faultOf(error, "connect"), use, this.#settings.location);
    });
  }

  #putBack(client: pg.PoolClient, isBroken: boolean): void {
    // A waiting request gets its connection from the pool.
    if (isBroken || this.#pool.waitingCount > 0 || this.#closing !== undefined) {
      client.release(isBroken);
      return;
    }
    this.#spare = Math.min(this.#spare, this.#free.length);
    this.#free.push(client);
    this.#looking ??= setTimeout(() => this.#look(), IDLE_MS).unref();
  }

  /** Closes connections that were not needed for a while. */
  #look(): void {
    for (const client of this.#free.splice(0, Math.min(this.#spare, this.#free.length))) client.release(true);
    this.#spare = this.#free.length;
    this.#looking = this.#spare === 0 ? undefined : setTimeout(() => this.#look(), IDLE_MS).unref();
  }

  /** Handles the error of a free connection. A connection in use reports the error through its statement. */
  #broke(client: pg.PoolClient, error: unknown): void {
    const place = this.#free.indexOf(client);
    if (place === -1) return;
    this.#free.splice(place, 1);
    client.release(true);
    this.#lost(error);
  }

  /**
   * Waits for the operations in progress, then ends the sessions. A connection that does not respond is cut.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    while (this.#inProgress.size > 0) await Promise.allSettled(this.#inProgress);
    clearTimeout(this.#looking);
    for (const client of this.#free.splice(0)) client.release();
    await this.#pool.end();
    const open = [...this.#sockets];
    const closed = open.map((socket) => new Promise((resolve) => socket.once("close", resolve)));
    const timer = setTimeout(() => {
      for (const socket of open) socket.destroy();
    }, CLOSE_MS);
    await Promise.all(closed);
    clearTimeout(timer);
  }

  #socket(): Socket {
    const socket = new Socket();
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    return socket;
  }

  #lost(error: unknown): void {
    const { text } = faultOf(error, "statement");
    this.#settings.log.warn("store.connection-lost", { store: this.#settings.location, reason: text });
  }
}

async function publicAnswerOf(
  client: pg.PoolClient,
  { name, text }: Statement,
  values: readonly unknown[],
): Promise<Row[]> {
  const { rows } = await client.query({ name, text, values: [...values], rowMode: "array" });
  return rows;
}

function answerOf(client: pg.PoolClient, statement: Statement, values: readonly unknown[]): Promise<Row[]> {
  if (unfit.has(client)) return publicAnswerOf(client, statement, values);
  return new Promise((resolve, reject) => {
    const answered = (error: unknown, rows: Row[]) => (error ? reject(error) : resolve(rows));
    client.query(new PreparedQuery(statement, values, client, answered) as unknown as pg.Submittable);
  });
}
