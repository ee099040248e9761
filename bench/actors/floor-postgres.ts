// The least a durable turn on PostgreSQL can cost: the same rows written by hand, one prepared UPDATE for a whole batch,
// committed by itself, on as many connections (up to four) as turns out best here. Nothing is fenced.
import pg from "pg";
import type { Make } from "../case.ts";

const UPDATE = {
  name: "update",
  text: `UPDATE actors SET version = version + 1, state = new.state
           FROM unnest($1::bigint[], $2::text[]) AS new (ref, state) WHERE actors.ref = new.ref`,
};

/** A connection with rows of its own, so that batches never wait for each other's locks. */
interface Lane {
  readonly client: pg.Client;
  readonly refs: number[];
  readonly states: { n: number }[];
}

/** Turns in batches of `batch`; a batch of one is a turn at a time on one connection. */
export const turns: Make = async ({ postgres, durationMs, warmupMs, params }) => {
  const batch = Number(params.batch);
  const lanes: Lane[] = [];
  for (let lane = 0; lane < Number(params.connections); lane++) {
    const client = new pg.Client({ connectionString: postgres });
    await client.connect();
    const refs = Array.from({ length: batch }, (_, i) => lane * batch + i);
    lanes.push({ client, refs, states: refs.map(() => ({ n: 0 })) });
  }
  const first = lanes[0]!.client;
  await first.query("CREATE TABLE actors (ref bigint PRIMARY KEY, version bigint NOT NULL, state text NOT NULL)");
  await first.query(`INSERT INTO actors SELECT ref, 0, '{"n":0}' FROM generate_series(0, $1::int) AS ref`, [
    lanes.length * batch - 1,
  ]);

  let total = 0;
  const measure = async (used: readonly Lane[], ms: number) => {
    const start = performance.now();
    let done = 0;
    await Promise.all(
      used.map(async ({ client, refs, states }) => {
        do {
          for (const state of states) state.n++;
          const texts = states.map((state) => JSON.stringify(state));
          const { rowCount } = await client.query({ ...UPDATE, values: [refs, texts] });
          if (rowCount !== batch) throw new Error(`${rowCount} of ${batch} rows were there`);
          done += batch;
        } while (performance.now() - start < ms);
      }),
    );
    total += done;
    return done / ((performance.now() - start) / 1000);
  };

  let best = { lanes: lanes.slice(0, 1), rate: 0 };
  for (let count = 1; count <= lanes.length; count *= 2) {
    await measure(lanes.slice(0, count), warmupMs / 4);
    const rate = await measure(lanes.slice(0, count), warmupMs / 2);
    if (rate > best.rate) best = { lanes: lanes.slice(0, count), rate };
  }
  return {
    run: () => measure(best.lanes, durationMs),
    async close() {
      const { rows } = await first.query<{ v: string; n: string }>(
        "SELECT sum(version) AS v, sum((state::json ->> 'n')::bigint) AS n FROM actors",
      );
      for (const { client } of lanes) await client.end();
      if (Number(rows[0]?.v) !== total || Number(rows[0]?.n) !== total) {
        throw new Error(`${total} turns left ${rows[0]?.v} behind`);
      }
    },
  };
};
