// Reads actors for display: one actor, or a page of them. Never on the path of a call.
import type { ActorKey } from "../../../kernel/names.ts";
import type { ActorQuery, StoredActor } from "../../../ports/store/store.ts";
import type { Connections, Row, Statement } from "../connection/connections.ts";

const millis = (column: string) => `floor(extract(epoch FROM ${column}) * 1000)::bigint`;
const COLUMNS = `type, id, epoch, version, owner, bytes, ${millis("taken_at")}, ${millis("committed_at")}`;

export class PostgresActorListing {
  readonly #connections: Connections;
  readonly #schema: string;

  constructor(connections: Connections, schema: string) {
    this.#connections = connections;
    this.#schema = schema;
  }

  async find({ namespace, type, id }: ActorKey): Promise<StoredActor | undefined> {
    const text = `SELECT ${COLUMNS} FROM ${this.#schema}.actors WHERE namespace = $1 AND type = $2 AND id = $3`;
    const rows = await this.#connections.run({ name: "limpet_find", text }, [namespace, type, id], "harmless");
    return rows[0] && actorOf(rows[0]);
  }

  async list(query: ActorQuery): Promise<StoredActor[]> {
    const { statement, values } = listStatement(this.#schema, query);
    const rows = await this.#connections.run(statement, values, "harmless");
    return rows.map(actorOf);
  }
}

/**
 * A page is one range of the index on names, read in index order: the cost is that of the page, at any
 * position. A prefix with a type is a range too; without a type, the query passes over the actors of the
 * namespace that do not match.
 */
export function listStatement(schema: string, query: ActorQuery): { statement: Statement; values: unknown[] } {
  const { namespace, type, prefix = "", after, limit } = query;
  const values: unknown[] = [];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const conditions = [`namespace = ${bind(namespace)}`];
  let name = "limpet_list";
  if (type !== undefined) {
    conditions.push(`type = ${bind(type)}`);
    name += "_type";
  }
  if (after !== undefined) {
    conditions.push(`(type, id) > (${bind(after.type)}, ${bind(after.id)})`);
    name += "_after";
  }
  if (prefix !== "") {
    const end = endOfPrefix(prefix);
    conditions.push(`id >= ${bind(prefix)}`);
    if (end !== undefined) conditions.push(`id < ${bind(end)}`);
    name += end === undefined ? "_from" : "_prefix";
  }
  const text = `SELECT ${COLUMNS} FROM ${schema}.actors WHERE ${conditions.join(" AND ")}
    ORDER BY type, id LIMIT ${bind(limit)}`;
  return { statement: { name, text }, values };
}

/**
 * The first text, by code point, behind all texts that begin with `prefix`; `undefined` when there is none.
 */
export function endOfPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) as number);
  while (points.at(-1) === 0x10ffff) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  // Surrogates are not characters of their own.
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
}

function actorOf(row: Row): StoredActor {
  const [type, id, epoch, version, owner, bytes, takenAt, committedAt] = row as [
    ...[string, string, number, number, string, number, number],
    number | null,
  ];
  return { type, id, epoch, version, owner, bytes, takenAt, committedAt: committedAt ?? undefined };
}
