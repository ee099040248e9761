// Opens the store a location names. Drivers are loaded only when they are needed.
import { storeKind } from "../config/places.ts";
import type { Log } from "../ports/log.ts";
import type { Store } from "../ports/store.ts";

export async function openStore(location: string, { log }: { readonly log?: Log | undefined } = {}): Promise<Store> {
  switch (storeKind(location)) {
    case "memory": {
      const { MemoryStore } = await import("../stores/memory/memory-store.ts");
      return new MemoryStore();
    }
    case "postgres": {
      const { openPostgresStore } = await import("../stores/postgres/postgres-store.ts");
      return openPostgresStore(location, { log });
    }
    case "sqlite": {
      const { openSqliteStore } = await import("../stores/sqlite/sqlite-store.ts");
      return openSqliteStore(location, { log });
    }
  }
}
