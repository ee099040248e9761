import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { shardsContract } from "../shards.contract.ts";
import { openSqliteStore } from "./sqlite-store.ts";

let folder: string;
let files = 0;
const freshFile = () => join(folder, `${++files}.db`);

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "limpet-shards-"));
});
after(() => rm(folder, { recursive: true }));

shardsContract("SQLite", async () => {
  const file = freshFile();
  const store = await openSqliteStore(file);
  const again = () => openSqliteStore(file);
  return { store, second: again, reopen: again, dispose: () => store.close() };
});
