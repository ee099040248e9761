// Minimal processor on SQLite: one transaction leases a thousand rows, the next one deletes them after they
// were handled and leases the next thousand. As durable as ours (WAL, synchronous=FULL).
import { setTimeout as pause, setImmediate as soon } from "node:timers/promises";
import { beTheOther } from "../../cluster/other-process.ts";
import { Tally, type TallyQuestion } from "../tally.ts";
import { openFile } from "./sqlite-table.ts";

const EMPTY_MS = 10;
const BUSY_MS = 1;

const tally = new Tally();

await beTheOther<{ file: string; batch: number }>(async ({ file, batch }) => {
  const database = openFile(file);
  const lease = database.prepare(
    `UPDATE reminders SET leased_until = ?1 + 30000, token = 'abcdefghijklmnopqrstuv'
     WHERE generation IN (
       SELECT generation FROM reminders WHERE type_ref = 1 AND at <= ?1 AND leased_until <= ?1 ORDER BY at LIMIT ?2)
     RETURNING generation, id, name, at, due, number, attempt, schedule, data`,
  );
  lease.setReturnArrays(true);
  const remove = database.prepare("DELETE FROM reminders WHERE generation IN (SELECT value FROM json_each(?))");
  const transaction = async <T>(work: () => T): Promise<T> => {
    for (;;) {
      try {
        database.exec("BEGIN IMMEDIATE");
        const result = work();
        database.exec("COMMIT");
        return result;
      } catch (error) {
        if (database.isTransaction) database.exec("ROLLBACK");
        if ((error as { errcode?: number }).errcode !== 5) throw error;
        await pause(BUSY_MS * (1 + 4 * Math.random()));
      }
    }
  };
  let isOpen = true;
  const work = async () => {
    let handled: unknown[] = [];
    while (isOpen || handled.length > 0) {
      const gone = JSON.stringify(handled);
      const isEmpty = handled.length === 0;
      const rows = await transaction(() => {
        if (!isEmpty) remove.run(gone);
        return isOpen ? (lease.all(Date.now(), batch) as unknown as unknown[][]) : [];
      });
      for (const row of rows) tally.hit(Number(row[8]));
      handled = rows.map(([generation]) => generation);
      await (rows.length === 0 ? pause(EMPTY_MS) : soon());
    }
  };
  const working = work();
  return {
    answer: (question: TallyQuestion) => tally.answer(question),
    async stop() {
      isOpen = false;
      await working;
      database.close();
    },
  };
});
