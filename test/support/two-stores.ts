// The stores that survive a process, each created for one test.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPostgres } from "./postgres.ts";

export interface Place extends AsyncDisposable {
  /** An empty folder to work in. */
  readonly folder: string;
  /** The value for `limpet({ store })`. */
  readonly store: string;
}

export async function tempPlace(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), "limpet-place-"));
  const remove = () => rm(folder, { recursive: true, force: true });
  return { folder, store: join(folder, "limpet.db"), [Symbol.asyncDispose]: remove };
}

async function postgresPlace(): Promise<Place> {
  await using stack = new AsyncDisposableStack();
  const { folder } = stack.use(await tempPlace());
  const store = await stack.use(await startPostgres()).createDatabase();
  const all = stack.move();
  return { folder, store, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

export const STORES = [
  { name: "one SQLite file", open: tempPlace },
  { name: "one PostgreSQL database", open: postgresPlace },
] as const;
