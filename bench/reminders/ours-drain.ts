// Limpet: a backlog of due reminders, drained by one or two hosts.
import { join } from "node:path";
import { makeDrain } from "./drain.ts";
import { IN_LARGE_PIECES, startHosts } from "./ours.ts";
import { PostgresBacklog, SqliteBacklog } from "./ours-rows.ts";

export const onPostgres = makeDrain(async ({ postgres, params }) => {
  const handlers = await startHosts({ store: postgres, ...IN_LARGE_PIECES }, Number(params.processes));
  return { handlers, backlog: await PostgresBacklog.open(postgres, Number(params.actors)) };
});

/** A file notifies no other processes, so they poll often. */
export const onSqlite = makeDrain(async ({ folder, params }) => {
  const file = join(folder, "ours.db");
  const handlers = await startHosts(
    { store: file, ...IN_LARGE_PIECES, pollInterval: "100ms" },
    Number(params.processes),
  );
  return { handlers, backlog: new SqliteBacklog(file) };
});
