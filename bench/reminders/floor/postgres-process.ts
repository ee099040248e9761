// Minimal processor on PostgreSQL: one statement leases a thousand rows, another deletes them after they were
// handled, and meanwhile the next thousand are leased. Only the due time is checked; nothing is renewed,
// retried or notified.
import { setTimeout as pause } from "node:timers/promises";
import { beTheOther } from "../../cluster/other-process.ts";
import { Tally, type TallyQuestion } from "../tally.ts";
import { connect } from "./table.ts";

const LEASE = {
  name: "lease",
  rowMode: "array",
  text: `UPDATE reminders SET leased_until = $1::bigint + 30000, token = 'abcdefghijklmnopqrstuv'
         WHERE generation = ANY (ARRAY(
           SELECT generation FROM reminders WHERE queue = 1 AND at <= $1 AND leased_until <= $1
           ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED))
         RETURNING generation, type, id, name, at, due, number, attempt, schedule, data`,
};
const DELETE = { name: "delete", text: "DELETE FROM reminders WHERE generation = ANY ($1::bigint[])" };
const EMPTY_MS = 10;

const tally = new Tally();

await beTheOther<{ url: string; batch: number }>(async ({ url, batch }) => {
  const [leasing, deleting] = [await connect(url), await connect(url)];
  let isOpen = true;
  const work = async () => {
    let settled: Promise<unknown> = Promise.resolve();
    while (isOpen) {
      const { rows } = await leasing.query<[string, ...unknown[]]>({ ...LEASE, values: [Date.now(), batch] });
      for (const row of rows) tally.hit(Number(row[9]));
      await settled;
      if (rows.length === 0) await pause(EMPTY_MS);
      else settled = deleting.query({ ...DELETE, values: [`{${rows.map(([generation]) => generation).join()}}`] });
    }
    await settled;
  };
  const working = work();
  return {
    answer: (question: TallyQuestion) => tally.answer(question),
    async stop() {
      isOpen = false;
      await working;
      await Promise.all([leasing.end(), deleting.end()]);
    },
  };
});
