// The stores a cluster is tested on: one SQLite file, or one PostgreSQL server with a database for each test.
import { isSoak } from "./effort.ts";
import { startPostgres, type TestServer } from "./postgres.ts";
import { type Place, tempPlace } from "./two-stores.ts";

/** Stores for the tests of one file. */
export interface Grounds extends AsyncDisposable {
  /** A new, empty store. */
  place(): Promise<Place>;
  readonly server: TestServer | undefined;
}

async function sqliteGrounds(): Promise<Grounds> {
  return { place: tempPlace, server: undefined, async [Symbol.asyncDispose]() {} };
}

async function postgresGrounds(): Promise<Grounds> {
  const server = await startPostgres();
  const place = async (): Promise<Place> => {
    const temp = await tempPlace();
    return { ...temp, store: await server.createDatabase() };
  };
  return { place, server, [Symbol.asyncDispose]: () => server.dispose() };
}

export const GROUNDS = [
  { store: "SQLite", open: sqliteGrounds },
  { store: "PostgreSQL", open: postgresGrounds },
] as const;

/** For tests that do not depend on the store: both stores in a soak, and this one otherwise. */
export const groundsFor = (usual: (typeof GROUNDS)[number]["store"]): readonly (typeof GROUNDS)[number][] =>
  isSoak ? GROUNDS : GROUNDS.filter(({ store }) => store === usual);
