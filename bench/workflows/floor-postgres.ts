// Least cost of steps of workflows on PostgreSQL: a row for each run and a row for each step, with
// hand-written SQL. The next steps of all runs travel in one statement, one batch after the other; a step is
// its record and an update of its run.
import { connect } from "../reminders/floor/table.ts";
import type { StartEngine } from "./engine.ts";
import { makeLongRun } from "./long-run.ts";
import { makeTenSteps } from "./ten-steps.ts";

const TABLES = `
  CREATE TABLE runs (run bigint PRIMARY KEY, last bigint NOT NULL, is_over boolean NOT NULL) WITH (fillfactor = 50);
  CREATE TABLE steps (run bigint, number bigint, data text NOT NULL, PRIMARY KEY (run, number))`;

const START = {
  name: "start",
  text: `WITH made AS (INSERT INTO runs SELECT run, 0, false FROM unnest($1::bigint[]) AS new (run))
         INSERT INTO steps SELECT run, 0, $2 FROM unnest($1::bigint[]) AS new (run)`,
};
const STEP = {
  name: "step",
  text: `WITH marked AS (UPDATE runs SET last = last + 1, is_over = run = ANY ($3::bigint[]) WHERE run = ANY ($1::bigint[]) RETURNING run, last)
         INSERT INTO steps SELECT run, last, $2 FROM marked`,
};
/** As long as the record that Limpet writes for a step. */
const DATA = "x".repeat(140);

interface Waiting {
  readonly run: number;
  readonly isLast: boolean;
  readonly done: () => void;
}

const startEngine: StartEngine = async ({ postgres }, stepped) => {
  const client = await connect(postgres);
  await client.query(TABLES);
  const queues: Record<"start" | "step", Waiting[]> = { start: [], step: [] };
  let isBusy = false;

  const work = async () => {
    for (;;) {
      const kind = queues.start.length > 0 ? "start" : "step";
      const batch = queues[kind].splice(0);
      if (batch.length === 0) break;
      const runs = `{${batch.map(({ run }) => run).join()}}`;
      const over = `{${batch.flatMap(({ run, isLast }) => (isLast ? run : [])).join()}}`;
      const { rowCount } = await client.query(
        kind === "start" ? { ...START, values: [runs, DATA] } : { ...STEP, values: [runs, DATA, over] },
      );
      if (rowCount !== batch.length) throw new Error(`${rowCount} of ${batch.length} rows were written`);
      for (const { done } of batch) done();
      // Continued runs request their next step at this moment.
      await new Promise(setImmediate);
    }
    isBusy = false;
  };
  const ask = (kind: "start" | "step", run: number, isLast: boolean): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    queues[kind].push({ run, isLast, done: resolve });
    if (!isBusy) {
      isBusy = true;
      setImmediate(() => void work());
    }
    return promise;
  };

  return {
    async run(id, count) {
      await ask("start", id, false);
      let done = 0;
      while (done < count) {
        stepped(done++);
        await ask("step", id, done === count);
      }
      return done;
    },
    close: () => client.end(),
  };
};

export const tenSteps = makeTenSteps(startEngine);
export const longRun = makeLongRun(startEngine);
