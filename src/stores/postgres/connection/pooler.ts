// Detects how a pooler in front of the server handles sessions. A pooler that keeps a session for each
// connection is accepted. Pooling by transaction or statement loses settings, prepared statements, locks and
// notifications, and is rejected.
import pg from "pg";
import { faultOf, StoreFault } from "./faults.ts";
import { holdSession, type SessionDriver } from "./session.ts";
import type { PostgresSettings } from "./settings.ts";

/** How often the check is repeated: a pooler may use another session by chance. */
const PROBES = 3;
const STARTUP_REFUSED = "08P01";

/** Without the startup parameter, every connection gets its settings by SET (session.ts). */
function withoutStartupOptions(driver: SessionDriver): SessionDriver {
  const { options: _, ...rest } = driver;
  return rest;
}

/**
 * The error of a pooler for startup parameters that it does not know; PostgreSQL never sends it for the ones
 * used here.
 */
const refusedStartup = (error: unknown): boolean =>
  (error as { code?: unknown } | null | undefined)?.code === STARTUP_REFUSED;

export interface Entrance {
  readonly client: pg.Client;
  /** The settings for every later connection. */
  readonly settings: PostgresSettings;
}

/**
 * Connects once; again without the startup parameter when a pooler refuses it. Rejects with the driver's
 * error.
 */
export async function enter(settings: PostgresSettings, queryTimeoutMs?: number): Promise<Entrance> {
  const { driver, leadershipDriver, openTimeoutMs } = settings;
  const client = new pg.Client({
    ...driver,
    connectionTimeoutMillis: openTimeoutMs,
    ...(queryTimeoutMs !== undefined && { query_timeout: queryTimeoutMs }),
  });
  client.on("error", () => undefined);
  try {
    await client.connect();
    return { client, settings };
  } catch (error) {
    await client.end().catch(() => undefined);
    if (!refusedStartup(error) || driver.options === undefined) throw error;
  }
  return enter(
    {
      ...settings,
      driver: withoutStartupOptions(driver),
      leadershipDriver: withoutStartupOptions(leadershipDriver),
    },
    queryTimeoutMs,
  );
}

/** Rejects with a StoreFault when a pooler keeps no sessions, and with the driver's error otherwise. */
export async function checkEntrance({ client, settings }: Entrance): Promise<void> {
  const { isPooled } = await holdSession(client, settings.driver, settings.location);
  if (isPooled) await checkPooler(client, settings.driver, settings.location);
}

/**
 * Rejects with a StoreFault when two connections get the same session of the server. While the second is in a
 * transaction, a pooler in session mode cannot give it the first one's session; a pooler in transaction mode
 * gives it the session that was free last.
 */
async function checkPooler(first: pg.ClientBase, driver: SessionDriver, location: string): Promise<void> {
  const second = new pg.Client(driver);
  second.on("error", () => undefined);
  try {
    await second.connect();
    for (let probe = 0; probe < PROBES; probe++) {
      const before = await backendOf(first);
      await second.query("BEGIN");
      const between = await backendOf(second);
      const after = await backendOf(first);
      await second.query("COMMIT");
      if (between === before || after !== before) throw lendsOut(location);
    }
    await holdSession(second, driver, location);
  } catch (error) {
    if (error instanceof StoreFault) throw error;
    // A pooler that has one session only, or that pools by statement and refuses BEGIN.
    const { text } = faultOf(error, "statement");
    throw new StoreFault(
      "OPTION_INVALID",
      "settings",
      `PostgreSQL at ${location}: the pooler in front of it did not open two sessions at once: ${text}. ${ADVICE}`,
    );
  } finally {
    await second.end().catch(() => undefined);
  }
}

const ADVICE =
  "Connect to the server directly, or set pool_mode = session in PgBouncer, with a pool of at least storeConnections for each process";

const lendsOut = (location: string): StoreFault =>
  new StoreFault(
    "OPTION_INVALID",
    "settings",
    `PostgreSQL at ${location}: the pooler in front of it shares sessions by transaction, and Limpet needs sessions of its own. ${ADVICE}`,
  );

async function backendOf(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  return rows[0]!.pid;
}
