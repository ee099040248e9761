// Reads actors for display: one by its key, or a page of many. One SQL verb, one statement, its performance
// story above it.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { ActorKey } from "../../../kernel/names.ts";
import type { ActorQuery, StoredActor } from "../../../ports/store/store.ts";
import { rowsAsArrays } from "../rows-as-arrays.ts";

const SELECT = `SELECT type, id, epoch, version, owner, piece_bytes + coalesce(octet_length(state), 0), taken_at,
  committed_at FROM actor_names JOIN actors USING (ref)`;

type Row = [string, string, number, number, string, number, number, number | null];

export class ListingStatements {
  readonly #find: StatementSync;
  readonly #page: StatementSync;
  readonly #nextType: StatementSync;

  constructor(db: DatabaseSync) {
    const asArrays = rowsAsArrays(db);
    // One seek by name, one by primary key.
    this.#find = asArrays(`${SELECT} WHERE namespace = ?1 AND type = ?2 AND id = ?3`);
    // One range of the names in index order, and a seek for each row of the page. The range starts at the
    // prefix or behind the last page, the later of the two. It ends before the first id without the prefix:
    // the byte FF is in no UTF-8 text and above all that are. `<>` is not a range, so the planner cannot use
    // it as the start.
    this.#page = asArrays(
      `${SELECT}
       WHERE namespace = ?1 AND type = ?2 AND id >= max(?3, ?4) AND id < ?3 || CAST(X'FF' AS TEXT) AND id <> ?4
       ORDER BY id LIMIT ?5`,
    );
    // One seek that jumps over all actors of a type, so a prefix over all types costs one range per type.
    this.#nextType = asArrays("SELECT type FROM actor_names WHERE namespace = ? AND type > ? ORDER BY type LIMIT 1");
  }

  find({ namespace, type, id }: ActorKey): StoredActor | undefined {
    const row = this.#find.get(namespace, type, id) as Row | undefined;
    return row && toStored(row);
  }

  /** Reads several times; the caller holds one read transaction around it. */
  list({ namespace, type, prefix = "", after, limit }: ActorQuery): StoredActor[] {
    const found: StoredActor[] = [];
    let current = type ?? after?.type ?? this.#typeAfter(namespace, "");
    while (current !== undefined && found.length < limit) {
      const behind = behindOf(current, after);
      if (behind !== undefined) {
        const rows = this.#page.all(namespace, current, prefix, behind, limit - found.length) as unknown as Row[];
        for (const row of rows) found.push(toStored(row));
      }
      current = type === undefined ? this.#typeAfter(namespace, current) : undefined;
    }
    return found;
  }

  #typeAfter(namespace: string, type: string): string | undefined {
    const row = this.#nextType.get(namespace, type) as [string] | undefined;
    return row?.[0];
  }
}

/**
 * The id to start behind within a type; empty for all of it, `undefined` when the page before was past the
 * type.
 */
function behindOf(type: string, after: ActorQuery["after"]): string | undefined {
  if (after === undefined) return "";
  const order = Buffer.compare(Buffer.from(type), Buffer.from(after.type));
  if (order === 0) return after.id;
  return order > 0 ? "" : undefined;
}

function toStored([type, id, epoch, version, owner, bytes, takenAt, committedAt]: Row): StoredActor {
  return { type, id, epoch, version, owner, bytes, takenAt, committedAt: committedAt ?? undefined };
}
