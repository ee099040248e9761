// The rows of actors: one SQL verb, one statement, with its performance story above it. Every method runs
// inside a write transaction of the caller.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { invariant } from "../../../kernel/errors.ts";
import { LIMITS } from "../../../kernel/limits.ts";
import { rowsAsArrays } from "../rows-as-arrays.ts";
import { COMMIT_NUMBERS, COMMIT_STRINGS, TAKE_STRINGS, type TakeAnswer, WRITE_KIND } from "./verbs.ts";

type Head = [ref: number, epoch: number, version: number, pieces: number, state: string | null];
type Fence = [epoch: number, version: number, commitId: string | null, owner: string];

/** Places in the batch, ascending: nearly always none. */
interface Committed {
  readonly fenced: number[];
  /** Applied before. */
  readonly repeated: number[];
  readonly voided: number[];
}

/** One commit in progress; `data` is null when it clears or keeps the state. */
interface Writing {
  readonly ref: number;
  readonly epoch: number;
  readonly version: number;
  readonly id: string;
  readonly data: string | null;
  readonly now: number;
  /** The incarnation of this process that must have taken the row last. */
  readonly owner: string;
}

/** Safe between quotes in a statement. */
const PLAIN_WORD = /^[\w-]{1,100}$/;

export class ActorStatements {
  readonly #head: StatementSync;
  readonly #insert: StatementSync;
  readonly #name: StatementSync;
  readonly #raise: StatementSync;
  readonly #wholeOf: StatementSync;
  readonly #changesOf: StatementSync;
  readonly #prepareInline: (owner: string) => StatementSync;
  #commitInline: StatementSync | undefined;
  #inlineOwner: string | undefined;
  readonly #commitWhole: StatementSync;
  readonly #commitChange: StatementSync;
  readonly #commitKeep: StatementSync;
  readonly #fence: StatementSync;
  readonly #putWhole: StatementSync;
  readonly #putChange: StatementSync;
  readonly #dropWhole: StatementSync;
  readonly #dropChanges: StatementSync;

  constructor(db: DatabaseSync) {
    const asArrays = rowsAsArrays(db);
    // Take. A lookup by name, a lookup by primary key and one UPDATE: together they take two thirds of the
    // time of one INSERT … ON CONFLICT … RETURNING, which builds a temporary table for its result.
    this.#head = asArrays(
      `SELECT ref, epoch, version, pieces, state FROM actor_names JOIN actors USING (ref)
       WHERE namespace = ? AND type = ? AND id = ?`,
    );
    this.#raise = db.prepare("UPDATE actors SET epoch = ?, owner = ?, taken_at = ? WHERE ref = ?");
    // The first take. New refs are the next higher number, so new rows are adjacent at the end of the table.
    this.#insert = db.prepare("INSERT INTO actors (epoch, owner, taken_at) VALUES (?, ?, ?)");
    this.#name = db.prepare("INSERT INTO actor_names (namespace, type, id, ref) VALUES (?, ?, ?, ?)");
    // Only actors with chunks pay for these two: one seek each, and the changes are adjacent and in order.
    this.#wholeOf = asArrays("SELECT data FROM actor_wholes WHERE ref = ?");
    this.#changesOf = asArrays("SELECT data FROM actor_changes WHERE ref = ? ORDER BY version");

    // Commit of a small state, or of none: the hot statement. One seek, one row rewritten in place, no index
    // touched. `pieces = 0` guarantees that there are no chunks to remove.
    this.#prepareInline = (owner) =>
      db.prepare(
        `UPDATE actors SET version = version + 1, commit_id = ?, committed_at = ?, state = ?
         WHERE ref = ? AND epoch = ? AND version = ? AND pieces = 0 AND owner = '${owner}'`,
      );
    // Commit of a whole state that is large, or that replaces a large one: its chunks are then written and
    // deleted by ref.
    this.#commitWhole = db.prepare(
      `UPDATE actors SET version = version + 1, commit_id = ?, committed_at = ?, state = ?, pieces = ?, piece_bytes = ?
       WHERE ref = ? AND epoch = ? AND version = ? AND owner = ?`,
    );
    // Commit of a change: the row is short because the large state is stored separately, and the change is
    // appended.
    this.#commitChange = db.prepare(
      `UPDATE actors SET version = version + 1, commit_id = ?, committed_at = ?,
         pieces = pieces + 1, piece_bytes = piece_bytes + ?
       WHERE ref = ? AND epoch = ? AND version = ? AND owner = ? AND (state IS NOT NULL OR pieces > 0)`,
    );
    // Commit that leaves the state unchanged, large or small.
    this.#commitKeep = db.prepare(
      `UPDATE actors SET version = version + 1, commit_id = ?, committed_at = ?
       WHERE ref = ? AND epoch = ? AND version = ? AND owner = ?`,
    );
    // Read only when one of the statements above changed nothing, to find the reason.
    this.#fence = asArrays("SELECT epoch, version, commit_id, owner FROM actors WHERE ref = ?");

    this.#putWhole = db.prepare(
      "INSERT INTO actor_wholes (ref, data) VALUES (?, ?) ON CONFLICT DO UPDATE SET data = excluded.data",
    );
    this.#putChange = db.prepare("INSERT INTO actor_changes (ref, version, data) VALUES (?, ?, ?)");
    this.#dropWhole = db.prepare("DELETE FROM actor_wholes WHERE ref = ?");
    this.#dropChanges = db.prepare("DELETE FROM actor_changes WHERE ref = ?");
  }

  /** `floor`: the least epoch, for a process that continues with a restored file. */
  take(asked: readonly string[], floor: number, now: number): TakeAnswer {
    const numbers: number[] = [];
    const strings: string[] = [];
    // Epochs never repeat, also when the file was restored: see stores/own-takes.ts.
    const least = Math.max(floor, now);
    for (let i = 0; i < asked.length; i += TAKE_STRINGS) {
      const namespace = asked[i] as string;
      const type = asked[i + 1] as string;
      const id = asked[i + 2] as string;
      const owner = asked[i + 3] as string;
      const head = this.#head.get(namespace, type, id) as Head | undefined;
      if (head === undefined) {
        const fresh = Number(this.#insert.run(least, owner, now).lastInsertRowid);
        this.#name.run(namespace, type, id, fresh);
        numbers.push(fresh, least, 0, 0);
        continue;
      }
      const [ref, before, version, pieces, state] = head;
      const epoch = Math.max(before + 1, least);
      this.#raise.run(epoch, owner, now, ref);
      const first = strings.length;
      if (state !== null) strings.push(state);
      if (pieces > 0) this.#readPieces(ref, state === null, strings);
      numbers.push(ref, epoch, version, strings.length - first);
    }
    return { numbers, strings };
  }

  #readPieces(ref: number, wholeIsApart: boolean, into: string[]): void {
    if (wholeIsApart) {
      const [data] = this.#wholeOf.get(ref) as unknown as [string];
      into.push(data);
    }
    for (const [data] of this.#changesOf.all(ref) as unknown as [string][]) into.push(data);
  }

  /**
   * `owners`: the incarnations of this process, the newest last. `isVoid`: the commit at this index has a
   * settlement that is not valid, so it must not count.
   */
  commit(
    numbers: readonly number[],
    strings: readonly string[],
    owners: readonly string[],
    now: number,
    isVoid?: (place: number) => boolean,
  ): Committed {
    const committed: Committed = { fenced: [], repeated: [], voided: [] };
    const count = numbers.length / COMMIT_NUMBERS;
    const current = owners.at(-1) ?? "";
    for (let i = 0; i < count; i++) {
      const at = i * COMMIT_NUMBERS;
      const ref = numbers[at] as number;
      const epoch = numbers[at + 1] as number;
      const version = numbers[at + 2] as number;
      const kind = numbers[at + 3] as number;
      const id = strings[i * COMMIT_STRINGS] as string;
      const hasData = kind === WRITE_KIND.whole || kind === WRITE_KIND.change;
      const data = hasData ? (strings[i * COMMIT_STRINGS + 1] as string) : null;
      if (isVoid?.(i)) {
        committed[
          this.#waits(ref, epoch, version, owners) ? "voided" : this.#happened(ref, id) ? "repeated" : "fenced"
        ].push(i);
        continue;
      }
      if ((kind === WRITE_KIND.whole || kind === WRITE_KIND.clear) && fitsInline(data)) {
        const inline = this.#inlineOf(current);
        if (inline?.run(id, now, data, ref, epoch, version).changes === 1) continue;
      }
      const writing: Writing = { ref, epoch, version, id, data, now, owner: this.#ownerOf(ref, owners) };
      if (this.#write(kind, writing)) continue;
      const waits = this.#waits(ref, epoch, version, owners);
      invariant(!waits, "a change is committed on top of a whole state");
      committed[this.#happened(ref, id) ? "repeated" : "fenced"].push(i);
    }
    return committed;
  }

  /**
   * The owner is part of the statement text, because binding a text costs a tenth of such a commit. A process
   * gets a new incarnation only when it loses its lease, so the statement is prepared rarely. An owner that
   * is not a plain word has no such statement: its commits take the general one.
   */
  #inlineOf(owner: string): StatementSync | undefined {
    if (owner !== this.#inlineOwner) {
      this.#inlineOwner = owner;
      this.#commitInline = PLAIN_WORD.test(owner) ? this.#prepareInline(owner) : undefined;
    }
    return this.#commitInline;
  }

  #write(kind: number, writing: Writing): boolean {
    if (kind === WRITE_KIND.change) return this.#append(writing);
    if (kind !== WRITE_KIND.keep) return this.#replace(writing);
    const { ref, epoch, version, id, now, owner } = writing;
    return this.#commitKeep.run(id, now, ref, epoch, version, owner).changes === 1;
  }

  #append({ ref, epoch, version, id, data, now, owner }: Writing): boolean {
    const text = data ?? "";
    const { changes } = this.#commitChange.run(id, now, Buffer.byteLength(text), ref, epoch, version, owner);
    if (changes !== 1) return false;
    this.#putChange.run(ref, version + 1, text);
    return true;
  }

  #replace({ ref, epoch, version, id, data, now, owner }: Writing): boolean {
    const inline = fitsInline(data) ? data : null;
    const apart = fitsInline(data) ? null : (data as string);
    const [pieces, bytes] = apart === null ? [0, 0] : [1, Buffer.byteLength(apart)];
    if (this.#commitWhole.run(id, now, inline, pieces, bytes, ref, epoch, version, owner).changes !== 1) return false;
    if (apart === null) this.#dropWhole.run(ref);
    else this.#putWhole.run(ref, apart);
    this.#dropChanges.run(ref);
    return true;
  }

  /** The row is as this writer left it. */
  #waits(ref: number, epoch: number, version: number, owners: readonly string[]): boolean {
    const row = this.#fence.get(ref) as unknown as Fence | undefined;
    return row !== undefined && row[0] === epoch && row[1] === version && owners.includes(row[3]);
  }

  /**
   * An earlier incarnation of this process may have taken the row. The row is read only if there is an
   * earlier one.
   */
  #ownerOf(ref: number, owners: readonly string[]): string {
    const newest = owners.at(-1) ?? "";
    if (owners.length < 2) return newest;
    const row = this.#fence.get(ref) as unknown as Fence | undefined;
    return row !== undefined && owners.includes(row[3]) ? row[3] : newest;
  }

  /** This very commit was applied before. */
  #happened(ref: number, id: string): boolean {
    const row = this.#fence.get(ref) as unknown as Fence | undefined;
    return row?.[2] === id;
  }
}

/** A UTF-16 unit is one to three bytes, so most texts need no counting. */
function fitsInline(text: string | null): boolean {
  if (text === null || text.length * 3 <= LIMITS.inlineStateBytes) return true;
  return text.length <= LIMITS.inlineStateBytes && Buffer.byteLength(text) <= LIMITS.inlineStateBytes;
}
