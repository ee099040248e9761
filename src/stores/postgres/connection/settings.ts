// Derives the settings of the driver and of each session from a URL and options. Every wait is bounded here.
// The password goes only to the driver.
import pg from "pg";
import { isLoopback } from "../../../kernel/addresses.ts";
import { LimpetError } from "../../../kernel/errors.ts";
import { type Log, silentLog } from "../../../ports/log.ts";
import { type ConnectionShares, connectionShares, DEFAULT_CONNECTIONS } from "./connection-shares.ts";
import { type SessionDriver, sessionValues, startupOptions } from "./session.ts";

export interface PostgresOptions {
  /**
   * Schema that holds Limpet's tables. Two installations may share a database under two schemas. Default
   * `limpet`.
   */
  readonly schema?: string;
  /**
   * Most connections of this process. Too low: statements wait for each other while the server waits for its
   * disk. Too high: batches get smaller, and the server runs out of connections. Default 17.
   */
  readonly connections?: number;
  /**
   * Milliseconds the store may be silent before a caller gets an error. Connecting and one statement fit into
   * it, unless they have limits of their own below.
   */
  readonly storeTimeoutMs?: number;
  /**
   * Milliseconds for a connection to be ready. Too low: a busy server looks dead. Too high: a dead one holds
   * calls up.
   */
  readonly connectTimeoutMs?: number;
  /**
   * Milliseconds the server may spend on one statement. Too low: large states cannot be written. Too high: a
   * hanging statement is noticed late. A silent connection is given up two seconds later.
   */
  readonly statementTimeoutMs?: number;
  /**
   * Milliseconds a batch may wait for a row that another transaction holds before it goes on without it. Too
   * low: ordinary conflicts cost a second attempt. Too high: one locked row delays its whole batch.
   */
  readonly lockTimeoutMs?: number;
  /**
   * Whether processes notify each other of reminders that are due soon, by NOTIFY. Off, a reminder that one
   * process sets and another delivers waits for the other's next poll. A pooler in transaction mode loses
   * notifications. Default true.
   */
  readonly notify?: boolean;
  readonly log?: Log;
}

export interface PostgresSettings {
  /** The URL without password and parameters. */
  readonly location: string;
  /**
   * The server is on another machine without TLS: states, passwords and the cluster secret can be read on the
   * network.
   */
  readonly isUnencrypted: boolean;
  readonly schema: string;
  readonly shares: ConnectionShares;
  readonly connectTimeoutMs: number;
  /** The same for the first connection of a start, which is made once. */
  readonly openTimeoutMs: number;
  readonly statementTimeoutMs: number;
  readonly lockTimeoutMs: number;
  readonly notify: boolean;
  readonly log: Log;
  /** For the driver. It holds the password: never log it. */
  readonly driver: SessionDriver;
  /** The same for the leadership connection: it times out early, before the leadership ends. */
  readonly leadershipDriver: SessionDriver;
}

const SCHEMA = /^[a-z_][a-z0-9_]{0,62}$/;
/** Time limits of one connection: to connect, to run a statement, to get a lock, and for the response. */
interface Waits {
  readonly connectMs: number;
  readonly statementMs: number;
  readonly lockMs: number;
  /** Extra time on the client, so that the server's own timeout error can arrive. */
  readonly silenceMs: number;
}

const SILENCE_MS = 2_000;
const USUAL = { connectMs: 5_000, statementMs: 15_000, silenceMs: SILENCE_MS };
/** Shares of the store timeout: a new connection and one statement on it take no longer than all of it. */
const CONNECT_SHARE = 0.4;
const STATEMENT_SHARE = 0.5;
const SILENCE_SHARE = 0.1;
/** With less than this, a busy server looks dead. */
const LEAST_MS = 1_000;
const LEADERSHIP = { connectMs: 2_000, statementMs: 1_000, lockMs: 900, silenceMs: 250 };

export function postgresSettings(url: string, options: PostgresOptions = {}): PostgresSettings {
  const schema = options.schema ?? "limpet";
  if (!SCHEMA.test(schema)) {
    throw new LimpetError(
      "OPTION_INVALID",
      `schema must have lower case letters, digits and "_", at most 63, and not begin with a digit; got ${JSON.stringify(schema)}`,
    );
  }
  const usual = limitsWithin(options.storeTimeoutMs);
  const connectTimeoutMs = positive("connectTimeoutMs", options.connectTimeoutMs ?? usual.connectMs);
  const statementTimeoutMs = positive("statementTimeoutMs", options.statementTimeoutMs ?? usual.statementMs);
  const lockTimeoutMs = positive("lockTimeoutMs", options.lockTimeoutMs ?? 100);
  const waits = { connectMs: connectTimeoutMs, statementMs: statementTimeoutMs, lockMs: lockTimeoutMs };
  const driver = driverSettings(url, { ...waits, silenceMs: usual.silenceMs });
  return {
    location: locationOf(driver),
    isUnencrypted: isUnencrypted(driver),
    schema,
    shares: connectionShares(positive("connections", options.connections ?? DEFAULT_CONNECTIONS)),
    connectTimeoutMs,
    statementTimeoutMs,
    lockTimeoutMs,
    openTimeoutMs: Math.max(options.storeTimeoutMs ?? 0, connectTimeoutMs),
    notify: options.notify ?? true,
    log: options.log ?? silentLog,
    driver,
    leadershipDriver: driverSettings(url, LEADERSHIP),
  };
}

function limitsWithin(storeTimeoutMs: number | undefined): typeof USUAL {
  if (storeTimeoutMs === undefined) return USUAL;
  const share = (of: number): number => Math.round(storeTimeoutMs * of);
  return {
    connectMs: Math.max(share(CONNECT_SHARE), LEAST_MS),
    statementMs: Math.max(share(STATEMENT_SHARE), LEAST_MS),
    silenceMs: Math.min(Math.max(share(SILENCE_SHARE), LEAST_MS / 4), SILENCE_MS),
  };
}

function driverSettings(url: string, { connectMs, statementMs, lockMs, silenceMs }: Waits): SessionDriver {
  const { connectionString, extra } = splitUrl(url);
  const session = { values: sessionValues(statementMs, lockMs), extra };
  return {
    connectionString,
    session,
    application_name: "limpet",
    options: startupOptions(session),
    connectionTimeoutMillis: connectMs,
    query_timeout: statementMs + silenceMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: { getTypeParser: typeParser as typeof pg.types.getTypeParser },
  };
}

/**
 * Removes session options from the URL, because the driver would let them replace the values of `Session`.
 * They follow the required values instead.
 */
function splitUrl(url: string): { connectionString: string; extra: string } {
  if (typeof url !== "string" || !/^postgres(ql)?:\/\//.test(url)) throw badUrl();
  const mark = url.indexOf("?");
  if (mark === -1) return { connectionString: url, extra: process.env.PGOPTIONS ?? "" };
  const parameters = new URLSearchParams(url.slice(mark + 1));
  const extra = parameters.get("options") ?? process.env.PGOPTIONS ?? "";
  parameters.delete("options");
  const rest = parameters.toString().replaceAll("+", "%20");
  return { connectionString: rest === "" ? url.slice(0, mark) : `${url.slice(0, mark)}?${rest}`, extra };
}

function locationOf(driver: pg.ClientConfig): string {
  try {
    const { user, host, port, database } = new pg.Client(driver);
    const place = host.includes(":") ? `[${host}]` : host.startsWith("/") ? encodeURIComponent(host) : host;
    const who = user === undefined ? "" : `${encodeURIComponent(user)}@`;
    return `postgres://${who}${place}:${port}/${encodeURIComponent(database ?? "")}`;
  } catch {
    // The parser's message may quote the URL, and the URL may hold a password.
    throw badUrl();
  }
}

/** The driver refuses a server without TLS when the URL asks for TLS. */
function isUnencrypted(driver: pg.ClientConfig): boolean {
  const { host, ssl } = new pg.Client(driver);
  return !ssl && !isLoopback(host) && !host.startsWith("/");
}

const badUrl = () =>
  new LimpetError(
    "OPTION_INVALID",
    "store: this is not a PostgreSQL URL; write postgres://user:password@host:5432/database",
  );

function positive(name: string, value: number): number {
  if (Number.isInteger(value) && value > 0 && value < 2 ** 31) return value;
  throw new LimpetError("OPTION_INVALID", `${name} must be a whole number from 1; got ${value}`);
}

const BIGINT = 20;

/** Epochs, versions and refs stay far below 2^53, so they are numbers here. */
function typeParser(oid: number, format?: "text" | "binary"): unknown {
  return oid === BIGINT ? Number : pg.types.getTypeParser(oid, format as "text");
}
