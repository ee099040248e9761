// Session settings that the statements need, and the check that each connection has them. The settings travel
// with the connection request, so that no statement runs without them. A pooler may drop them there without
// an error. So each new connection is checked once, corrected by SET, and rejected if the settings still
// differ.
import type pg from "pg";
import { StoreFault } from "./faults.ts";

/** Values by name, as `pg_settings` shows them: durations in milliseconds. */
export type SessionValues = Readonly<Record<string, string>>;

export interface Session {
  readonly values: SessionValues;
  /** Settings of the URL or PGOPTIONS, in the form of the server's command line. They outweigh `values`. */
  readonly extra: string;
}

/** The driver's settings of one kind of connection, with the session that goes with it. */
export interface SessionDriver extends pg.ClientConfig {
  readonly session: Session;
}

export function sessionValues(statementTimeoutMs: number, lockTimeoutMs: number): SessionValues {
  return {
    statement_timeout: `${statementTimeoutMs}`,
    lock_timeout: `${lockTimeoutMs}`,
    idle_in_transaction_session_timeout: `${statementTimeoutMs}`,
    // Without it, a process that is suspended while a response is in flight would hold its row locks until it
    // resumes.
    tcp_user_timeout: `${statementTimeoutMs}`,
    // An acknowledged write is on disk, regardless of the server's default.
    synchronous_commit: "on",
    // The statements are written for this level; a stricter default would make concurrent transactions fail
    // instead of wait.
    default_transaction_isolation: "read committed",
    // Each statement finds its rows by key. Statistics of a young or fast-growing table lead the planner to
    // read all of it (a hundred times slower). So the other plans are disabled, and one plan per connection
    // is enough.
    enable_seqscan: "off",
    enable_hashjoin: "off",
    enable_mergejoin: "off",
    enable_bitmapscan: "off",
    plan_cache_mode: "force_generic_plan",
    jit: "off",
  };
}

/** A Unix socket has no such timeout and always shows 0. */
const MAY_DIFFER = new Set(["tcp_user_timeout"]);

/** The startup parameter `options`. A space within a value is escaped as the server requires. */
export function startupOptions({ values, extra }: Session): string {
  const ours = Object.entries(values).map(([name, value]) => `-c ${name}=${value.replaceAll(" ", "\\ ")}`);
  return `${ours.join(" ")} ${extra}`.trimEnd();
}

/** `-c name=value` and `--name=value`, as PostgreSQL reads them; a backslash keeps the character after it. */
export function optionsIn(extra: string): [name: string, value: string][] {
  const words = extra.match(/(?:\\.|[^\s\\])+/g) ?? [];
  const found: [string, string][] = [];
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    const text = word === "-c" ? (words[++i] ?? "") : word.replace(/^(?:-c|--)/, "");
    const at = text.indexOf("=");
    if (at <= 0) continue;
    found.push([text.slice(0, at).replaceAll("-", "_").toLowerCase(), text.slice(at + 1).replace(/\\(.)/g, "$1")]);
  }
  return found;
}

export interface Held {
  /**
   * A pooler stands between this connection and the server: the server's process is not the one that accepted
   * the connection.
   */
  readonly isPooled: boolean;
}

/**
 * Ensures that the session has the required settings. Rejects with a StoreFault when they differ, and with
 * the driver's error.
 */
export async function holdSession(client: pg.ClientBase, driver: SessionDriver, location: string): Promise<Held> {
  const { session, connectionTimeoutMillis: limitMs } = driver;
  const overrides = optionsIn(session.extra);
  const overridden = new Set(overrides.map(([name]) => name));
  const wanted = Object.entries(session.values).filter(([name]) => !overridden.has(name));
  const first = await readSession(client, wanted, limitMs);
  const isPooled = first.pid !== (client as { readonly processID?: unknown }).processID;
  if (first.different.length === 0) return { isPooled };
  // A difference means that the startup parameter was dropped, and the settings of the URL with it.
  await client.query(limited(setting([...wanted, ...overrides]), limitMs));
  const { different } = await readSession(client, wanted, limitMs);
  const [lost] = different.filter(({ name }) => !MAY_DIFFER.has(name));
  if (lost === undefined) return { isPooled };
  throw new StoreFault(
    "STORE_UNAVAILABLE",
    "settings",
    `PostgreSQL at ${location}: a session must have ${lost.name} = ${lost.wanted}; it has ${lost.value} after SET. ` +
      "Connect to the server directly, or let the pooler keep sessions (PgBouncer: pool_mode = session)",
  );
}

interface Different {
  readonly name: string;
  readonly wanted: string;
  readonly value: string;
}

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** These queries are part of connecting, so they get the connection timeout. */
const limited = (text: string, limitMs: number | undefined): pg.QueryConfig =>
  ({ text, query_timeout: limitMs }) as pg.QueryConfig;

async function readSession(client: pg.ClientBase, wanted: readonly [string, string][], limitMs: number | undefined) {
  const names = wanted.map(([name]) => literal(name)).join(", ");
  const { rows } = await client.query<{ name: string; setting: string; pid: number }>(
    limited(
      `SELECT name, setting, pg_backend_pid() AS pid FROM pg_catalog.pg_settings WHERE name IN (${names})`,
      limitMs,
    ),
  );
  const values = new Map(rows.map(({ name, setting }) => [name, setting]));
  const different: Different[] = wanted
    .map(([name, value]) => ({ name, wanted: value, value: values.get(name) ?? "no such setting" }))
    .filter(({ wanted: expected, value }) => expected !== value);
  return { pid: rows[0]?.pid, different };
}

const setting = (values: readonly [string, string][]): string =>
  `SELECT ${values.map(([name, value]) => `set_config(${literal(name)}, ${literal(value)}, false)`).join(", ")}`;
