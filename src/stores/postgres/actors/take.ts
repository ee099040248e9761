// Takes actors: raises the epoch first, and reads the stored state after that.
import { setTimeout as pause } from "node:timers/promises";
import { LIMITS } from "../../../kernel/limits.ts";
import type { ActorKey } from "../../../kernel/names.ts";
import type { Locked, StoredState, Taken, TakeRequest } from "../../../ports/store/store.ts";
import type { OwnTakes } from "../../own-takes.ts";
import { bigints, texts } from "../connection/arrays.ts";
import type { Connections, Statement } from "../connection/connections.ts";
import { StoreFault } from "../connection/faults.ts";

const WANTED = `
  SELECT i.namespace COLLATE "C" AS namespace, i.type COLLATE "C" AS type, i.id COLLATE "C" AS id, i.owner
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS i (namespace, type, id, owner)`;

/**
 * An epoch is never below the server's clock, nor below `$5`, the floor of this process: see
 * stores/own-takes.ts.
 */
const raiseEpochs = (schema: string) => `
  INSERT INTO ${schema}.actors AS a (namespace, type, id, epoch, owner, taken_at)
  SELECT w.namespace, w.type, w.id, greatest($5::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint), w.owner, now()
  FROM wanted w ORDER BY w.namespace, w.type, w.id
  ON CONFLICT (namespace, type, id)
  DO UPDATE SET epoch = greatest(a.epoch + 1, excluded.epoch), owner = excluded.owner, taken_at = excluded.taken_at
  RETURNING a.namespace, a.type, a.id, a.ref, a.epoch, a.version, a.state, a.base, a.bytes`;

/**
 * One statement inserts the missing rows and raises the epoch of the others. It visits rows in the order of
 * their names, so two takes that share actors wait for each other but never deadlock. An existing row costs
 * two index visits and a HOT update. It also uses up a number of the identity sequence, which suffices for
 * ten thousand takes a second over twenty thousand years. The head row contains the state when that is small.
 */
export const takeHeads = (schema: string): Statement => ({
  name: "limpet_take_heads",
  text: `
    WITH wanted AS (${WANTED})
    ${raiseEpochs(schema)}`,
});

/**
 * The same for a batch that met a locked row: it locks existing rows first and skips rows that another
 * transaction holds. It visits each row twice, so it is not the first choice.
 */
export const takeFree = (schema: string): Statement => ({
  name: "limpet_take_free",
  text: `
    WITH named AS MATERIALIZED (${WANTED}), free AS MATERIALIZED (
      SELECT n.* FROM named n JOIN ${schema}.actors a USING (namespace, type, id)
      FOR NO KEY UPDATE OF a SKIP LOCKED
    ), wanted AS (
      SELECT * FROM free
      UNION ALL
      SELECT n.* FROM named n WHERE NOT EXISTS (
        SELECT FROM ${schema}.actors a WHERE a.namespace = n.namespace AND a.type = n.type AND a.id = n.id)
    )
    ${raiseEpochs(schema)}`,
});

/**
 * Reads the chunks of actors that were just taken. It must be a statement of its own, after the take. A
 * statement sees other tables as they were when it began, while it reads the row that it updates anew after a
 * lock wait. A take that read the chunks itself could return the head of a commit it waited for with the
 * chunks from before that commit.
 *
 * Head and chunks are consistent here for two reasons. The head is read again, so both come from one
 * snapshot. Every transaction that changes chunks also changes their head. If the epoch is still the one of
 * this take, no commit has happened since: the only possible writer waits for this result. If the epoch is
 * higher, another process took the actor meanwhile. The result is then a state that was committed, and every
 * commit of this process is fenced.
 *
 * One index range scan per actor, in the order of versions.
 */
export const readParts = (schema: string): Statement => ({
  name: "limpet_read_parts",
  text: `
    SELECT a.ref, a.version, a.state, p.data
    FROM unnest($1::bigint[]) AS i (ref)
    JOIN ${schema}.actors a ON a.ref = i.ref
    LEFT JOIN ${schema}.actor_parts p ON p.ref = a.ref AND a.base > 0
    ORDER BY a.ref, p.version`,
});

type HeadRow = [string, string, string, number, number, number, string | null, number, number];
type PartRow = [number, number, string | null, string | null];

interface Head {
  readonly ref: number;
  readonly epoch: number;
  readonly version: number;
  readonly state: StoredState | undefined;
  /** Stored bytes when there are chunks to read, 0 otherwise. */
  readonly partBytes: number;
}

/** Chunks are read in portions of about this size, so that no single result is huge. */
const PORTION_BYTES = 8 * LIMITS.batchBytes;

export class Takes {
  readonly #connections: Connections;
  readonly #takeHeads: Statement;
  readonly #takeFree: Statement;
  readonly #readParts: Statement;
  readonly #heldMs: number;
  readonly #own: OwnTakes;

  /** `heldMs`: how long rows that other transactions hold are retried. */
  constructor(connections: Connections, schema: string, heldMs: number, own: OwnTakes) {
    this.#connections = connections;
    this.#heldMs = heldMs;
    this.#own = own;
    this.#takeHeads = takeHeads(schema);
    this.#takeFree = takeFree(schema);
    this.#readParts = readParts(schema);
  }

  /** Takes no actor; it prepares the statement on the connection. */
  async warm(): Promise<void> {
    await this.#raise(this.#takeHeads, [], new Map());
  }

  /** `"locked"` for an actor whose row another transaction holds; it was not taken. */
  async take(batch: readonly TakeRequest[]): Promise<(Taken | Locked)[]> {
    if (batch.length === 0) return [];
    const heads = await this.#heads(batch);
    const chunked = await this.#parts([...heads.values()].filter(({ partBytes }) => partBytes > 0));
    return batch.map((request) => {
      const head = heads.get(keyOf(request));
      if (head === undefined) return "locked";
      const { ref, epoch, version, state } = head;
      return { ref, epoch, ...(chunked.get(ref) ?? { version, state }) };
    });
  }

  async #heads(batch: readonly TakeRequest[]): Promise<Map<string, Head>> {
    const heads = new Map<string, Head>();
    try {
      await this.#raise(this.#takeHeads, batch, heads);
    } catch (error) {
      // A statement that timed out on a row has changed nothing.
      if (!(error instanceof StoreFault && error.kind === "locked")) throw error;
      await this.#raiseFree(batch, heads);
    }
    return heads;
  }

  /** Takes the rows that are free now or become free soon. */
  async #raiseFree(batch: readonly TakeRequest[], heads: Map<string, Head>): Promise<void> {
    const deadline = performance.now() + this.#heldMs;
    for (let left = batch; ; ) {
      await this.#raise(this.#takeFree, left, heads);
      left = left.filter((request) => !heads.has(keyOf(request)));
      if (left.length === 0 || performance.now() > deadline) return;
      await pause(5 + Math.random() * 20);
    }
  }

  async #raise(statement: Statement, batch: readonly TakeRequest[], heads: Map<string, Head>): Promise<void> {
    const values = [
      texts(batch.map(({ namespace }) => namespace)),
      texts(batch.map(({ type }) => type)),
      texts(batch.map(({ id }) => id)),
      texts(batch.map(({ owner }) => owner)),
      this.#own.nextFloor(),
    ];
    for (const { owner } of batch) this.#own.add(owner);
    for (const row of await this.#connections.run(statement, values, "harmless")) {
      const [namespace, type, id, ref, epoch, version, whole, base, bytes] = row as HeadRow;
      this.#own.received(epoch);
      const state = whole === null ? undefined : { whole, changes: [] };
      heads.set(keyOf({ namespace, type, id }), { ref, epoch, version, state, partBytes: base > 0 ? bytes + 1 : 0 });
    }
  }

  async #parts(heads: readonly Head[]): Promise<Map<number, { version: number; state: StoredState | undefined }>> {
    const found = new Map<number, { version: number; state: StoredState | undefined }>();
    for (const refs of portions(heads)) {
      const rows = (await this.#connections.run(this.#readParts, [bigints(refs)], "harmless")) as PartRow[];
      const texts = new Map<number, string[]>();
      for (const [ref, version, state, data] of rows) {
        let list = texts.get(ref);
        if (list === undefined) {
          list = state === null ? [] : [state];
          texts.set(ref, list);
          found.set(ref, { version, state: undefined });
        }
        if (data !== null) list.push(data);
      }
      for (const [ref, [whole, ...changes]] of texts) {
        if (whole !== undefined) found.set(ref, { version: found.get(ref)!.version, state: { whole, changes } });
      }
    }
    return found;
  }
}

function* portions(heads: readonly Head[]): Generator<number[]> {
  let refs: number[] = [];
  let bytes = 0;
  for (const { ref, partBytes } of heads) {
    if (refs.length > 0 && bytes + partBytes > PORTION_BYTES) {
      yield refs;
      refs = [];
      bytes = 0;
    }
    refs.push(ref);
    bytes += partBytes;
  }
  if (refs.length > 0) yield refs;
}

/** A key for maps in memory; the lengths make it unambiguous. */
const keyOf = ({ namespace, type, id }: ActorKey) => `${namespace.length}:${type.length}:${namespace}${type}${id}`;
