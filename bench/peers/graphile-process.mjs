// A process that runs jobs of graphile-worker and counts them.
import { Logger, run } from "graphile-worker";
import { beTheOther } from "../cluster/other-process.ts";
import { Tally } from "../reminders/tally.ts";
import { poolOf } from "./graphile-pool.mjs";

const tally = new Tally();

await beTheOther(async ({ url, worker }) => {
  const pgPool = poolOf(url);
  const runner = await run({
    pgPool,
    preset: { worker },
    logger: new Logger(() => () => {}),
    noHandleSignals: true,
    taskList: { sink: ({ item }) => tally.hit(item) },
  });
  return {
    answer: (question) => tally.answer(question),
    async stop() {
      await runner.stop();
      await pgPool.end();
    },
  };
});
