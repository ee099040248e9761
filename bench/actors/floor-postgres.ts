// Least cost of a durable turn on PostgreSQL: hand-written SQL on the rows that Limpet writes, one prepared
// UPDATE for a whole batch, committed by itself, on one, two or four connections, whichever is fastest here.
// Nothing is routed, fenced or kept in order.
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

/** Connections that share the work, each with its own rows, so that none waits for another's locks. */
type Split = readonly Lane[];
interface Lane {
  readonly client: pg.Client;
  readonly refs: readonly number[];
  readonly batch: number;
  next: number;
}

/**
 * `inFlight` of the `actors` rows are always in progress: in one batch, or shared by two or four connections.
 */
export const turns: Make = async ({ postgres, durationMs, warmupMs, params }) => {
  const [actors, inFlight] = [Number(params.actors), Number(params.inFlight)];
  const clients = Array.from(
    { length: Number(params.connections) },
    () => new pg.Client({ connectionString: postgres }),
  );
  for (const client of clients) await client.connect();
  await clients[0]!.query(TABLE);
  await clients[0]!.query(ROWS, [actors]);
  const states = Array.from({ length: actors }, () => ({ n: 0 }));

  let total = 0;
  const batch = async (lane: Lane) => {
    const refs: number[] = [];
    for (let i = 0; i < lane.batch; i++) {
      refs.push(lane.refs[lane.next]!);
      lane.next = (lane.next + 1) % lane.refs.length;
    }
    for (const ref of refs) states[ref]!.n++;
    const texts = refs.map((ref) => JSON.stringify(JSON.stringify(states[ref])));
    const ids = refs.map((ref) => `${COMMIT_ID}${ref}`);
    // The driver would write arrays much slower.
    const values = [refs, ids, texts].map((items) => `{${items.join()}}`);
    const { rowCount } = await lane.client.query({ ...UPDATE, values });
    if (rowCount !== refs.length) throw new Error(`${rowCount} of ${refs.length} rows were there`);
    total += refs.length;
  };
  const measure = async (split: Split, ms: number) => {
    const start = performance.now();
    const before = total;
    const loops = split.map(async (lane) => {
      do await batch(lane);
      while (performance.now() - start < ms);
    });
    await Promise.all(loops);
    return (total - before) / ((performance.now() - start) / 1000);
  };

  let best: { split: Split; rate: number } | undefined;
  for (let count = 1; count <= clients.length; count *= 2) {
    const split = clients.slice(0, count).map((client, lane) => ({
      client,
      refs: states.flatMap((_, ref) => (ref % count === lane ? [ref] : [])),
      batch: inFlight / count,
      next: 0,
    }));
    await measure(split, warmupMs / 4);
    const rate = await measure(split, warmupMs / 2);
    if (best === undefined || rate > best.rate) best = { split, rate };
  }
  return {
    run: () => measure(best!.split, durationMs),
    async close() {
      const { rows } = await clients[0]!.query<{ v: string; n: string }>(
        "SELECT sum(version) AS v, sum((state::json ->> 'n')::bigint) AS n FROM actors",
      );
      for (const client of clients) await client.end();
      if (Number(rows[0]?.v) !== total || Number(rows[0]?.n) !== total) {
        throw new Error(`${total} turns left ${rows[0]?.v} and ${rows[0]?.n} behind`);
      }
    },
  };
};
