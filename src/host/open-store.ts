// Opens the store at a location. Drivers are loaded on first use.
import { randomBytes } from "node:crypto";
import { storeKind } from "../config/places.ts";
import type { Log } from "../ports/log.ts";
import type { Coordination } from "../ports/store/coordination.ts";
import type { Store } from "../ports/store/store.ts";

export interface StoreSettings {
  readonly log?: Log;
  /** Connections of this process, at most. PostgreSQL only. */
  readonly connections?: number;
  /**
   * How long the store may be silent before a caller gets an error. PostgreSQL only: a file has no
   * connection.
   */
  readonly storeTimeoutMs?: number;
}

export async function openStore(location: string, settings: StoreSettings = {}): Promise<Store> {
  const { log } = settings;
  switch (storeKind(location)) {
    case "memory": {
      const { MemoryStore } = await import("../stores/memory/memory-store.ts");
      return new MemoryStore();
    }
    case "postgres": {
      const { openPostgresStore } = await import("../stores/postgres/postgres-store.ts");
      return openPostgresStore(location, settings);
    }
    case "sqlite": {
      const { openSqliteStore } = await import("../stores/sqlite/sqlite-store.ts");
      return openSqliteStore(location, { log });
    }
  }
}

const SECRET_BYTES = 32;

/** The secret of the cluster on this store; created if missing. */
export const secretOf = (coordination: Pick<Coordination, "secret">): Promise<string> =>
  coordination.secret(randomBytes(SECRET_BYTES).toString("base64url"));

/** Opens the store only to read the secret. */
export async function clusterSecret(location: string): Promise<string> {
  const store = await openStore(location);
  try {
    return await secretOf(store.coordination);
  } finally {
    await store.close();
  }
}
