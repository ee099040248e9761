// Coordination among schedulers in PostgreSQL. All deadlines are on the clock of the database.
//
// Steps on the leadership have a connection of their own, with short waits. However busy the store is, a
// leader can renew its leadership, or learns within a second or two that it cannot. Members share the store's
// other connections. Their writes run one after the other, so they take at most one connection, and an
// earlier write never overtakes a later one.
import { invariant } from "../../../kernel/errors.ts";
import { LIMITS } from "../../../kernel/limits.ts";
import type {
  Candidate,
  Coordination,
  ElectionResult,
  Member,
  MemberChange,
  SchedulerEntry,
} from "../../../ports/store/coordination.ts";
import { membersInOrder, tooMany } from "../../leadership.ts";
import { merged } from "../../member-changes.ts";
import { bigints, texts } from "../connection/arrays.ts";
import type { Connections, Row, Statement } from "../connection/connections.ts";

type Scheduler = Omit<SchedulerEntry, "leader">;

/** Columns of a campaign's result. The schedulers are JSON objects separated by commas, in any order. */
type StandingRow = [term: number, leader: Scheduler | null, schedulers: string, hostLeaseMs: number];
type MemberRow = [string, string, string, string, number, string];

const campaign = (schema: string): Statement => ({
  name: "limpet_campaign",
  text: `SELECT at_term, leading_one, listed, longest_host_lease_ms FROM ${schema}.campaign($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
});

const resign = (schema: string): Statement => ({ name: "limpet_resign", text: `SELECT ${schema}.resign($1)` });

/** One index, read in its order. */
export const readMembers = (schema: string): Statement => ({
  name: "limpet_members",
  text: `SELECT namespace, incarnation, address, machine, pid, types FROM ${schema}.members
         ORDER BY namespace, incarnation`,
});

/**
 * The fence: the statement locks the row of leadership only if its term is still the writer's, and checks it
 * again after a wait. No other term begins before this is committed. No two changes concern the same member,
 * so the statement touches no row twice.
 *
 * Members may leave while the statement waits for the fence, and its snapshot still shows them. Known members
 * are therefore written by an UPDATE, which leaves a deleted row alone; an upsert would restore it.
 *
 * Rows are found by their key. The statement counts all rows, by an index, only when it adds some.
 */
export const noteMembers = (schema: string): Statement => ({
  name: "limpet_note_members",
  text: `
    WITH led AS MATERIALIZED (
      SELECT one FROM ${schema}.leadership WHERE one AND term = $1 FOR UPDATE
    ), saves AS MATERIALIZED (
      SELECT s.*, m.incarnation IS NOT NULL AS is_there
      FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::bigint[])
        AS s (namespace, incarnation, address, machine, pid, types, is_known)
      LEFT JOIN ${schema}.members m ON m.incarnation = s.incarnation
    ), growth AS MATERIALIZED (
      SELECT (SELECT count(*) FROM saves WHERE is_known = 0 AND NOT is_there)
           - (SELECT count(*) FROM unnest($9::text[]) AS i (incarnation) JOIN ${schema}.members USING (incarnation)) AS more
    ), room AS MATERIALIZED (
      SELECT more <= 0 OR more + (SELECT count(*) FROM ${schema}.members) <= $10 AS found FROM growth
    ), going AS MATERIALIZED (
      SELECT one FROM led, room WHERE found
    ), added AS (
      INSERT INTO ${schema}.members (namespace, incarnation, address, machine, pid, types)
      SELECT s.namespace, s.incarnation, s.address, s.machine, s.pid, s.types FROM going, saves s WHERE s.is_known = 0
      ON CONFLICT (incarnation) DO UPDATE
      SET namespace = excluded.namespace, address = excluded.address, machine = excluded.machine, pid = excluded.pid,
          types = excluded.types
    ), changed AS (
      UPDATE ${schema}.members m
      SET namespace = s.namespace, address = s.address, machine = s.machine, pid = s.pid, types = s.types
      FROM going, saves s WHERE m.incarnation = s.incarnation AND s.is_known = 1
    ), dropped AS (
      DELETE FROM ${schema}.members m USING going, unnest($9::text[]) AS i (incarnation)
      WHERE m.incarnation = i.incarnation
    )
    SELECT EXISTS (SELECT FROM led), found FROM room`,
});

/** No fence: only the host itself reports its departure, and the report is true under every leader. */
export const leaveMembers = (schema: string): Statement => ({
  name: "limpet_leave",
  text: `DELETE FROM ${schema}.members m USING unnest($1::text[]) AS i (incarnation) WHERE m.incarnation = i.incarnation`,
});

/**
 * The conflict clause rewrites the existing row unchanged. So the statement returns it also when another
 * process has just written it.
 */
export const clusterSecretStatement = (schema: string): Statement => ({
  name: "limpet_cluster_secret",
  text: `INSERT INTO ${schema}.cluster_secret AS s (one, secret) VALUES (true, $1)
         ON CONFLICT (one) DO UPDATE SET secret = s.secret RETURNING secret`,
});

export class PostgresCoordination implements Coordination {
  readonly #leadership: Connections;
  readonly #connections: Connections;
  readonly #statements;
  /** Settles when the previous member write has settled. */
  #written: Promise<unknown> = Promise.resolve();

  /** `leadership` serves only steps on the leadership; `connections` are the store's. */
  constructor(leadership: Connections, connections: Connections, schema: string) {
    this.#leadership = leadership;
    this.#connections = connections;
    this.#statements = {
      campaign: campaign(schema),
      resign: resign(schema),
      readMembers: readMembers(schema),
      note: noteMembers(schema),
      leave: leaveMembers(schema),
      secret: clusterSecretStatement(schema),
    };
  }

  async campaign(candidate: Candidate, dead: readonly string[] = []): Promise<ElectionResult> {
    const { incarnation, address, machine, pid, dedicated, leaseMs, hostLeaseMs, seenTerm = 0 } = candidate;
    const values = [
      incarnation,
      address,
      machine,
      pid,
      dedicated,
      leaseMs,
      hostLeaseMs,
      texts(dead),
      LIMITS.schedulers,
      seenTerm,
    ];
    const [row] = await this.#lead(this.#statements.campaign, values);
    if (row === undefined) throw tooMany("schedulers");
    return standingOf(row as unknown as StandingRow, incarnation);
  }

  async resign(incarnation: string): Promise<void> {
    await this.#lead(this.#statements.resign, [incarnation]);
  }

  async members(): Promise<Member[]> {
    const rows = await this.#connections.during(() =>
      this.#connections.run(this.#statements.readMembers, [], "harmless"),
    );
    return (rows as MemberRow[]).map(([namespace, incarnation, address, machine, pid, types]) => {
      return { namespace, incarnation, address, machine, pid, types: JSON.parse(types) as string[] };
    });
  }

  async persist(term: number, changes: readonly MemberChange[]): Promise<boolean> {
    const { saved, dropped } = merged(changes);
    const members = saved.map(({ member }) => member);
    const [isCurrent, foundRoom] = await this.#write(this.#statements.note, [
      term,
      texts(members.map(({ namespace }) => namespace)),
      texts(members.map(({ incarnation }) => incarnation)),
      texts(members.map(({ address }) => address)),
      texts(members.map(({ machine }) => machine)),
      bigints(members.map(({ pid }) => pid)),
      texts(members.map(({ types }) => JSON.stringify(types))),
      bigints(saved.map(({ isKnown }) => (isKnown ? 1 : 0))),
      texts(dropped),
      LIMITS.members,
    ]);
    if (isCurrent && !foundRoom) throw tooMany("members");
    return isCurrent as boolean;
  }

  async leave(incarnations: readonly string[]): Promise<void> {
    const { leave } = this.#statements;
    await this.#connections.during(() => this.#connections.run(leave, [texts(incarnations)], "harmless"));
  }

  async secret(offer: string): Promise<string> {
    const { secret } = this.#statements;
    const rows = await this.#connections.during(() => this.#connections.run(secret, [offer], "harmless"));
    return only(rows)[0] as string;
  }

  #lead(statement: Statement, values: unknown[]): Promise<Row[]> {
    return this.#leadership.during(() => this.#leadership.run(statement, values, "harmless"));
  }

  #write(statement: Statement, values: unknown[]): Promise<Row> {
    return this.#connections.during(() => {
      const run = async () => only(await this.#connections.run(statement, values, "harmless"));
      const written = this.#written.then(run, run);
      this.#written = written;
      return written;
    });
  }
}

function standingOf([term, leader, listed, hostLeaseMs]: StandingRow, incarnation: string): ElectionResult {
  const schedulers = JSON.parse(`[${listed}]`) as Scheduler[];
  return {
    term,
    leading: leader?.incarnation === incarnation,
    schedulers: membersInOrder(schedulers.map((one) => ({ ...one, leader: one.incarnation === leader?.incarnation }))),
    hostLeaseMs,
    leader: leader === null ? undefined : { ...leader, leader: true },
  };
}

function only(rows: readonly Row[]): Row {
  const [row] = rows;
  invariant(row !== undefined, "a step of coordination answers with one row");
  return row;
}
