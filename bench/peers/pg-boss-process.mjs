// A process that works on a queue of pg-boss and counts its jobs.
import { PgBoss } from "pg-boss";
import { beTheOther } from "../cluster/other-process.ts";
import { Tally } from "../reminders/tally.ts";

const tally = new Tally();

await beTheOther(async ({ url, work }) => {
  const boss = new PgBoss({ connectionString: url, max: 20, supervise: false, schedule: false, useListenNotify: true });
  boss.on("error", (error) => console.error(error));
  await boss.start();
  await boss.work("sink", work, async (jobs) => {
    for (const { data } of jobs) tally.hit(data.item);
  });
  return {
    answer: (question) => tally.answer(question),
    stop: () => boss.stop({ graceful: true, timeout: 5_000 }),
  };
});
