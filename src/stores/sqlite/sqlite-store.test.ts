import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { storeContract } from "../store.contract.ts";
import { openSqliteStore } from "./sqlite-store.ts";

storeContract("SQLite", async () => {
  const folder = await mkdtemp(join(tmpdir(), "limpet-sqlite-"));
  const file = join(folder, "limpet.db");
  const store = await openSqliteStore(file);
  return {
    store,
    second: () => openSqliteStore(file),
    reopen: () => openSqliteStore(file),
    dispose: async () => {
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
});
