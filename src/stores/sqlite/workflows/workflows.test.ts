import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before } from "node:test";
import { type OpenedWorkflows, workflowsContract } from "../../workflows.contract.ts";
import { openSqliteStore } from "../sqlite-store.ts";

let folder: string;
let files = 0;
const freshFile = () => join(folder, `${++files}.db`);

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "limpet-workflows-"));
});
after(() => rm(folder, { recursive: true }));

/** Every time that is stored. */
const MOMENTS: [table: string, ...columns: string[]][] = [
  ["workflow_runs", "started_at", "closed_at"],
  ["workflow_tasks", "at", "until", "claimed_at", "sticky_until"],
  ["workflow_workers", "seen_at"],
  ["reminders", "at", "due"],
  ["dead_reminders", "at", "due"],
  ["reminder_leases", "until"],
];

/** A negative time, as the end of an affinity may be, gets closer to 0. */
const earlier = (column: string): string => `CASE WHEN ${column} < 0 THEN ${column} + ?1 ELSE ${column} - ?1 END`;

async function open(): Promise<OpenedWorkflows> {
  const file = freshFile();
  const store = await openSqliteStore(file);
  const other = new DatabaseSync(file, { timeout: 30_000 });
  const again = () => openSqliteStore(file);
  return {
    store,
    second: again,
    reopen: again,
    advance: async (ms) => {
      other.exec("BEGIN IMMEDIATE");
      for (const [table, ...columns] of MOMENTS) {
        other.prepare(`UPDATE ${table} SET ${columns.map((one) => `${one} = ${earlier(one)}`).join(", ")}`).run(ms);
      }
      other.exec("COMMIT");
    },
    dispose: async () => {
      other.close();
      await store.close();
    },
  };
}

workflowsContract("SQLite", open);
