// Taking actors: raise the epoch first, read what is stored after.
import { setTimeout as pause } from "node:timers/promises";
import { invariant } from "../../kernel/errors.ts";
import { LIMITS } from "../../kernel/limits.ts";
import type { ActorKey } from "../../kernel/names.ts";
import type { StoredState, Taken, TakeRequest } from "../../ports/store.ts";
import { bigints, texts } from "./arrays.ts";
import type { Connections, Row, Statement } from "./connections.ts";
import { StoreFault } from "./faults.ts";

/**
 * One statement makes the rows that are missing and raises the epoch of the others. Rows are visited in the order of
 * their names, so two takes that share actors wait for each other and never in a circle. A row that exists costs two
 * index visits and a HOT update; it also uses up a number of the identity sequence, of which there are 2^63.
 * The head row answers with the state when that is small.
 */
export const takeHeads = (schema: string): Statement => ({
  name: "limpet_take_heads",
  text: `
    INSERT INTO ${schema}.actors AS a (namespace, type, id, epoch, owner, taken_at)
    SELECT i.namespace, i.type, i.id, 1, i.owner, now()
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS i (namespace, type, id, owner)
    ORDER BY i.namespace COLLATE "C", i.type COLLATE "C", i.id COLLATE "C"
    ON CONFLICT (namespace, type, id)
    DO UPDATE SET epoch = a.epoch + 1, owner = excluded.owner, taken_at = excluded.taken_at
    RETURNING a.namespace, a.type, a.id, a.ref, a.epoch, a.version, a.state, a.base, a.bytes`,
});

/**
 * Reads the parts of actors that were just taken. It must be a statement of its own, after the take: a statement sees
 * other tables as they were when it began, while the row it updates is read anew after a wait for its lock. Had the take
 * read the parts itself, it could return the head of a commit it waited for with the parts from before that commit.
 *
 * Why head and parts belong together here: the head is read again, so both come from one moment, and every transaction
 * that changes parts changes their head too. If the epoch is still the one we took, nobody can have committed since: the
 * only one who could is waiting for this answer. If it is higher, another took the actor meanwhile; what we return is
 * then a state that was committed, and every commit of ours is fenced.
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
  /** Stored bytes when there are parts to read, 0 otherwise. */
  readonly partBytes: number;
}

/** Parts are read in portions of about this size, so that no single answer is huge. */
const PORTION_BYTES = 8 * LIMITS.batchBytes;

export class Takes {
  readonly #connections: Connections;
  readonly #takeHeads: Statement;
  readonly #readParts: Statement;
  readonly #heldMs: number;

  /** `heldMs`: how long rows that others hold are tried again. */
  constructor(connections: Connections, schema: string, heldMs: number) {
    this.#connections = connections;
    this.#heldMs = heldMs;
    this.#takeHeads = takeHeads(schema);
    this.#readParts = readParts(schema);
  }

  async take(batch: readonly TakeRequest[]): Promise<Taken[]> {
    if (batch.length === 0) return [];
    const heads = await this.#heads(batch);
    const parted = await this.#parts([...heads.values()].filter(({ partBytes }) => partBytes > 0));
    return batch.map((request) => {
      const head = heads.get(keyOf(request));
      invariant(head !== undefined, "a take answers for every actor");
      const { ref, epoch, version, state } = head;
      return { ref, epoch, ...(parted.get(ref) ?? { version, state }) };
    });
  }

  async #heads(batch: readonly TakeRequest[]): Promise<Map<string, Head>> {
    const values = [
      texts(batch.map(({ namespace }) => namespace)),
      texts(batch.map(({ type }) => type)),
      texts(batch.map(({ id }) => id)),
      texts(batch.map(({ owner }) => owner)),
    ];
    const rows = (await this.#patiently(() => this.#connections.run(this.#takeHeads, values, "harmless"))) as HeadRow[];
    const heads = new Map<string, Head>();
    for (const [namespace, type, id, ref, epoch, version, state, base, bytes] of rows) {
      const whole = state === null ? undefined : { whole: state, changes: [] };
      heads.set(keyOf({ namespace, type, id }), {
        ...{ ref, epoch, version },
        state: whole,
        partBytes: base > 0 ? bytes + 1 : 0,
      });
    }
    return heads;
  }

  /** Tries again while somebody holds one of the rows. A take that gave up has changed nothing. */
  async #patiently(work: () => Promise<Row[]>): Promise<Row[]> {
    const deadline = performance.now() + this.#heldMs;
    for (;;) {
      try {
        return await work();
      } catch (error) {
        const held = error instanceof StoreFault && error.kind === "locked";
        if (!held || performance.now() > deadline) throw error;
        await pause(Math.random() * 10);
      }
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

/** A key for this process's memory; lengths keep the words apart. */
const keyOf = ({ namespace, type, id }: ActorKey) => `${namespace.length}:${type.length}:${namespace}${type}${id}`;
