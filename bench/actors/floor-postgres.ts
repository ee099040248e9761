// The least a durable turn on PostgreSQL can cost: the rows that Limpet writes, written by hand, one prepared UPDATE for
// a whole batch, committed by itself, on as many connections (up to four) as turns out best here. Nothing is routed,
// fenced or kept in order.
import pg from "pg";
import type { Make } from "../case.ts";

const TABLE = `
  CREATE TABLE actors (
    ref bigint PRIMARY KEY, namespace text NOT NULL, type text NOT NULL, id text NOT NULL,
    epoch bigint NOT NULL, version bigint NOT NULL, commit_id text, owner text NOT NULL, state text,
    taken_at timestamptz NOT NULL, committed_at timestamptz, UNIQUE (namespace, type, id)
  ) WITH (fillfactor = 80)`;

const ROWS = `
  INSERT INTO actors
    SELECT ref, 'default', 'Counter', 'counter-' || ref, 1, 0, NULL, 'abcdefghijklmnopqrstuv', '{"n":0}', now(), NULL
      FROM generate_series(0, $1::int - 1) AS ref`;

const UPDATE = {
  name: "update",
  text: `UPDATE actors SET version = version + 1, commit_id = new.commit_id, state = new.state, committed_at = now()
           FROM unnest($1::bigint[], $2::text[], $3::text[]) AS new (ref, commit_id, state)
           WHERE actors.ref = new.ref`,
};

const COMMIT_ID = "abcdefghijklmnop";

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
  await first.query(TABLE);
  await first.query(ROWS, [lanes.length * batch]);

  let total = 0;
  const measure = async (used: readonly Lane[], ms: number) => {
    const start = performance.now();
    let done = 0;
    await Promise.all(
      used.map(async ({ client, refs, states }) => {
        do {
          for (const state of states) state.n++;
          const texts = states.map((state) => JSON.stringify(JSON.stringify(state)));
          const ids = refs.map((ref) => `${COMMIT_ID}${ref}`);
          // The driver would write arrays much slower.
          const values = [refs, ids, texts].map((items) => `{${items.join()}}`);
          const { rowCount } = await client.query({ ...UPDATE, values });
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
