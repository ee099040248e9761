// Detects processes that died with reminders leased to them, long before their leases end.
//
// - Each process holds an advisory lock on its listening connection (reminder-listener.ts). PostgreSQL
//   releases
//   the lock when the connection ends, so also when the process is killed. While the process holds the lock,
//   its lease tokens end with its *mark*.
// - Each process checks the earliest leases every second. A mark whose lock is missing for GRACE_MS belongs
//   to a dead process, and claims take its rows. The grace lets a living process replace a lost connection.
// - A lock is read after the rows in the same statement. A process takes its lock before it uses the mark, so
//   a row with the mark of a living process never counts as free. A mark that comes back is alive again at
//   once: claims check the locks once more.
// - A process without a lock, or of an earlier release, has tokens without a mark: only the end of its lease
//   frees its rows.
import { randomInt } from "node:crypto";
import type { ClaimRequest } from "../../../ports/store/reminders.ts";
import { bigints, texts } from "../connection/arrays.ts";
import type { Connections, Statement } from "../connection/connections.ts";
import { askedOf, atOrBehind, IN_ORDER, type LowMarks } from "./low-marks.ts";
import { inQueue, queueOf } from "./queue.ts";
import { MILLIS } from "./tables.ts";

/** The first half of the key of these locks; the second half is the number of the process. */
const LOCK_CLASS = 1_818_848_621;
const MARK_LENGTH = 9;
/**
 * Rows of each type that one check reads, the earliest first, leased or not. So the cost of a check is
 * limited when the backlog is not. Several busy processes lease fewer rows than this. Later rows come into
 * view when the earlier ones are done.
 */
const ROWS_SEEN = 5_000;
const LOOK_MS = 1_000;
/**
 * A process that has lost its connection has this long to make a new one. Not a multiple of LOOK_MS, so that
 * jitter costs no extra look.
 */
const GRACE_MS = 2_500;

const markOf = (number: number): string => `~${number.toString(16).padStart(8, "0")}`;
/** The mark of row `r`. Tokens without one end with other characters. */
const markOfRow = `right(r.token, ${MARK_LENGTH})`;

/** True if a session holds the lock of this mark. Numbers are random, so the database does not matter. */
const isAlive = (mark: string): string => `EXISTS (
        SELECT FROM pg_catalog.pg_locks k
        WHERE k.locktype = 'advisory' AND k.classid = ${LOCK_CLASS} AND k.objsubid = 2 AND k.granted
          AND '~' || lpad(to_hex(k.objid::bigint), 8, '0') = ${mark})`;

/** A part of a statement: the marks of the array `marks` that have no lock now. */
export const goneOf = (marks: string): string => `gone AS MATERIALIZED (
      SELECT ARRAY(SELECT m.mark FROM unnest(${marks}::text[]) AS m (mark) WHERE NOT ${isAlive("m.mark")}) AS marks
    )`;

/** Condition that row `r` is leased to a process in `gone`. */
export const isOfGone = `${markOfRow} = ANY ((SELECT marks FROM gone)::text[])`;

/** The marks of the earliest leases whose process has no lock. */
export const findLostMarks = (schema: string): Statement => ({
  name: "limpet_lost_marks",
  text: `
    WITH clock AS MATERIALIZED (
      SELECT ${MILLIS} AS now
    ), asked AS MATERIALIZED (
      SELECT a.* FROM ${askedOf("$2", "$3", "$4", "$6")}
    ), held AS MATERIALIZED (
      SELECT DISTINCT l.mark FROM asked a CROSS JOIN LATERAL (
        SELECT ${markOfRow} AS mark, r.leased_until FROM ${schema}.reminders r
        WHERE ${inQueue("$1", "a")} AND ${atOrBehind("a")} AND r.at <= (SELECT now FROM clock) + $5
        ORDER BY ${IN_ORDER} LIMIT ${ROWS_SEEN}) l
      WHERE l.leased_until > (SELECT now FROM clock) AND l.mark LIKE '~________'
    )
    SELECT h.mark FROM held h WHERE NOT ${isAlive("h.mark")}`,
});

type Asked = Pick<ClaimRequest, "namespace" | "types" | "aheadMs">;

export class Holders {
  /** The second half of the key of this process's lock. */
  readonly number = randomInt(2 ** 31);
  readonly #connections: Connections;
  readonly #lows: LowMarks;
  readonly #statement: Statement;
  /** Called when rows of dead processes may be claimed in a namespace. */
  readonly #found: (namespace: string) => void;
  /** The latest claim of each namespace. */
  readonly #asked = new Map<string, Asked>();
  /** By namespace and mark: when it was first seen without its lock. */
  #lost = new Map<string, ReadonlyMap<string, number>>();
  #looking: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** The connection that holds the lock. */
  #lockedBy: object | undefined;
  #isClosed = false;

  constructor(connections: Connections, schema: string, lows: LowMarks, found: (namespace: string) => void) {
    this.#connections = connections;
    this.#lows = lows;
    this.#statement = findLostMarks(schema);
    this.#found = found;
  }

  /** The end of this process's tokens. Empty: it holds no lock now. */
  get mark(): string {
    return this.#lockedBy !== undefined ? markOf(this.number) : "";
  }

  /** The statement that takes the lock. Two connections of one process may hold it at the same time. */
  get lockStatement(): string {
    return `SELECT pg_advisory_lock_shared(${LOCK_CLASS}, ${this.number})`;
  }

  locked(connection: object): void {
    this.#lockedBy = connection;
  }

  /** The end of a connection; a newer one may hold the lock already. */
  ended(connection: object): void {
    if (this.#lockedBy === connection) this.#lockedBy = undefined;
  }

  /** Marks of processes that are dead by now, for a claim. */
  gone(request: Asked): readonly string[] {
    if (request.types.length > 0) this.#asked.set(request.namespace, request);
    if (!this.#isClosed && this.#timer === undefined) {
      this.#timer = setInterval(() => this.#lookSoon(), LOOK_MS).unref();
    }
    const { namespace } = request;
    const now = performance.now();
    return [...(this.#lost.get(namespace) ?? [])].filter(([, since]) => now - since >= GRACE_MS).map(([mark]) => mark);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#looking;
  }

  #lookSoon(): void {
    // A process without its own lock has trouble with the server, and does not judge others.
    if (this.#lockedBy === undefined || this.#looking !== undefined) return;
    this.#looking = this.#lookAll()
      // Claims meet the same trouble, and report it.
      .catch(() => this.#lost.clear())
      .finally(() => {
        this.#looking = undefined;
      });
  }

  async #lookAll(): Promise<void> {
    for (const asked of this.#asked.values()) {
      const { namespace } = asked;
      const before = this.#lost.get(namespace);
      const now = performance.now();
      const marks = await this.#lostMarks(asked);
      this.#lost.set(namespace, new Map(marks.map((mark) => [mark, before?.get(mark) ?? now])));
      if (this.gone(asked).length > 0) this.#found(namespace);
    }
  }

  async #lostMarks({ namespace, types, aheadMs }: Asked): Promise<string[]> {
    const asked = [...new Set(types)];
    const { marks } = this.#lows.of(namespace, asked);
    const queues = bigints(asked.map((type) => queueOf(namespace, type)));
    const places = [bigints(marks.map(({ at }) => at)), bigints(marks.map(({ generation }) => generation))];
    const values = [namespace, texts(asked), queues, places[0], aheadMs, places[1]];
    const rows = await this.#connections.run(this.#statement, values, "harmless");
    return rows.map(([mark]) => mark as string);
  }
}
